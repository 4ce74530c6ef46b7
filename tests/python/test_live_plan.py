"""What two captures tell of a function: pointers, roles and refusals. No GPU is needed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ouroboros.trace import live
from ouroboros.trace.live_plan import Block, Capture, Recipe, Tensor, TraceRefusedError, make_plan
from ouroboros.trace.plan_file import read_plan, write_plan

KEPT = 0x600D_0500_0000
BASES = (0x6217_0700_0000, 0x641D_0300_0000)
LIBRARY = 0x7F00_0000_0000
SIZE = 4096


def tensor(name, address, **changes):
    return Tensor(
        name=name,
        dtype="float32",
        shape=(32, 32),
        strides=(32, 1),
        address=address,
        bytes=SIZE,
        storage_bytes=SIZE,
        **changes,
    )


def words(*values):
    return b"".join(value.to_bytes(8, "little") for value in values).hex()


def kernel(*values, **changes):
    return {
        "kind": "kernel",
        "function": "scaled",
        "image": 0,
        "source": "",
        "grid": [4, 1, 1],
        "block": [128, 1, 1],
        "cluster": [1, 1, 1],
        "shared_bytes": 0,
        "cooperative": False,
        "parameters": words(*values),
        "fields": [[8 * i, 8] for i in range(len(values))],
        "tensor_maps": [],
        "externals": [],
        **changes,
    }


def captures(make_launches, *, blocks=3, output_at=1, kept=((KEPT, 64),)):
    """Two captures with an input, an output and a scratch block a page apart."""
    made = []
    for base in BASES:
        at = [base + 8192 * i for i in range(blocks)]
        made.append(
            Capture(
                launches=make_launches(at),
                inputs=[tensor("x", at[0])],
                outputs=[tensor("out", at[output_at])],
                own=[Block(address, SIZE) for address in at],
                kept=[Block(*one) for one in kept],
            )
        )
    return made


def recipe(**changes):
    return Recipe(
        **{
            "language": "python",
            "target": "sm_90",
            "image": lambda index: b"cubin %d" % index,
            "contents": lambda address, size: bytes(range(256))[: size % 257],
            "origin": lambda file, function: "library" if file else "candidate",
            **changes,
        }
    )


def planned(pair, **changes):
    return read_plan(make_plan(*pair, recipe(**changes)))


def refused(pair, **changes):
    with pytest.raises(TraceRefusedError) as caught:
        make_plan(*pair, recipe(**changes))
    return caught.value.kind


def test_a_pointer_moves_with_the_arena_and_a_number_does_not():
    document, images = planned(captures(lambda at: [kernel(at[0] + 8, at[1], 7)]))
    (launch,) = document["launches"]
    assert launch["pointers"] == [
        {"at": 0, "buffer": 0, "offset": 8},
        {"at": 8, "buffer": 1, "offset": 0},
    ]
    assert launch["parameters"] == words(0, 0, 7)
    assert document["origin"] == "live_trace"
    assert [one["role"] for one in document["buffers"]] == ["input", "output"]
    assert images == [b"cubin 0"]


def test_a_word_that_leads_into_one_capture_alone_is_refused_and_not_guessed():
    assert refused(captures(lambda at: [kernel(BASES[0] + 16)])) == "not_repeatable"


def test_numbers_that_differ_stay_as_the_first_capture_had_them():
    counter = iter((5, 6))
    document, _ = planned(captures(lambda at: [kernel(at[0], next(counter))]))
    assert document["launches"][0]["parameters"] == words(0, 5)


def test_a_pointer_inside_a_structure_is_found_and_a_split_word_is_not():
    def launches(at):
        block = kernel(1, at[0] + 4, 2)
        block["fields"] = [[0, 24]]
        return [block]

    document, _ = planned(captures(launches))
    assert [one["at"] for one in document["launches"][0]["pointers"]] == [8]

    def split(at):
        block = kernel(at[0])
        block["fields"] = [[0, 4], [4, 4]]
        return [block]

    assert planned(captures(split))[0]["launches"][0]["pointers"] == []


def test_one_past_the_end_belongs_to_the_block_that_ends_there():
    document, _ = planned(captures(lambda at: [kernel(at[0] + SIZE, at[0] + SIZE + 1)]))
    assert document["launches"][0]["pointers"] == [{"at": 0, "buffer": 0, "offset": SIZE}]


def test_what_else_was_allocated_is_scratch_and_what_was_kept_is_state():
    document, images = planned(captures(lambda at: [kernel(at[2] + 4, KEPT + 16)]))
    scratch, state = document["buffers"][2:]
    assert scratch == {"name": "scratch0", "role": "scratch", "bytes": SIZE}
    assert state == {"name": "state0", "role": "state", "bytes": 64, "image": state["image"]}
    assert images[state["image"]] == bytes(range(64))
    assert document["launches"][0]["pointers"][1] == {"at": 8, "buffer": 3, "offset": 16}


def test_state_that_holds_addresses_is_refused():
    table = (BASES[0] + 100).to_bytes(8, "little") * 8
    pair = captures(lambda at: [kernel(KEPT)])
    assert refused(pair, contents=lambda address, size: table) == "state_holds_addresses"


def test_a_library_s_own_memory_becomes_state_unless_it_moves_or_is_the_host_s():
    def external(**changes):
        one = {"at": 0, "address": LIBRARY + 8, "start": LIBRARY, "bytes": 32, "memory": 2}
        return lambda at: [kernel(LIBRARY + 8, externals=[one | changes])]

    document, _ = planned(captures(external()))
    assert document["buffers"][2]["role"] == "state"
    assert document["launches"][0]["pointers"] == [{"at": 0, "buffer": 2, "offset": 8}]
    assert refused(captures(external(memory=1))) == "host_memory"
    starts = iter((LIBRARY, LIBRARY + 64))
    moved = captures(lambda at: external(start=next(starts))(at))
    assert refused(moved) == "not_repeatable"


def test_memsets_and_copies_are_of_known_memory():
    def launches(at):
        return [
            {"kind": "memset", "address": at[2] + 4, "value": 0, "width": 4, "count": 8},
            {"kind": "copy", "address": at[1], "from_address": at[0] + 16, "bytes": 32},
        ]

    document, _ = planned(captures(launches))
    assert document["launches"] == [
        {"kind": "memset", "buffer": 2, "offset": 4, "value": 0, "width": 4, "count": 8},
        {
            "kind": "copy",
            "buffer": 1,
            "offset": 0,
            "from_buffer": 0,
            "from_offset": 16,
            "bytes": 32,
        },
    ]

    def foreign(at):
        return [{"kind": "copy", "address": at[1], "from_address": LIBRARY, "bytes": 32}]

    assert refused(captures(foreign)) == "foreign_memory"


def test_a_descriptor_is_recorded_as_what_it_describes():
    numbers = {
        "data_type": 7,
        "sizes": [64, 64],
        "strides_bytes": [256],
        "box": [32, 16],
        "element_strides": [1, 1],
        "interleave": 0,
        "swizzle": 3,
        "l2_promotion": 2,
        "oob_fill": 0,
    }

    def launches(at):
        # Where ptxas puts a first parameter of 64 bytes' alignment on Hopper: at 48.
        one = kernel(*[0] * 6, at[0] + 16, *range(15))
        one["fields"] = [[48, 128]]
        one["tensor_maps"] = [{"at": 48, "address": at[0] + 16, **numbers}]
        return [one]

    (launch,) = planned(captures(launches))[0]["launches"]
    assert launch["tensor_maps"] == [{"at": 48, "buffer": 0, "offset": 16, **numbers}]
    assert launch["pointers"] == []
    assert launch["parameters"] == bytes(176).hex()


def test_the_referee_reads_what_is_written():
    from ouroboros.plan import LaunchPlan

    def launches(at):
        return [
            {"kind": "memset", "address": at[2] + 4, "value": 0, "width": 4, "count": 8},
            {"kind": "copy", "address": at[1], "from_address": at[0] + 16, "bytes": 32},
            kernel(at[0], at[1] + SIZE, at[2], KEPT + 8, 9),
        ]

    plan = make_plan(*captures(launches), recipe())
    assert LaunchPlan.from_bytes(plan) is not None


def test_modules_are_told_apart_by_code_and_by_origin():
    def launches(at):
        return [
            kernel(at[0], image=image, source=source)
            for image, source in ((0, ""), (1, ""), (0, ""), (0, "/usr/lib/libcublas.so"))
        ]

    document, images = planned(captures(launches))
    assert document["modules"] == [
        {"origin": "candidate", "image": 0},
        {"origin": "candidate", "image": 1},
        {"origin": "library", "image": 0},
    ]
    assert [one["module"] for one in document["launches"]] == [0, 1, 0, 2]
    assert len(images) == 2


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"storage_offset": 4}, "output_is_view"),
        ({"storage_bytes": 2 * SIZE}, "output_is_view"),
        ({"address": KEPT}, "output_is_kept"),
        ({"address": LIBRARY}, "output_elsewhere"),
        ({"address": None}, "output_aliases_input"),
    ],
)
def test_outputs_own_their_memory(changes, kind):
    pair = captures(lambda at: [])
    pair = [
        replace(
            one,
            outputs=[
                replace(
                    one.outputs[0],
                    **{**changes, "address": changes["address"] or one.inputs[0].address}
                    if "address" in changes
                    else changes,
                )
            ],
        )
        for one in pair
    ]
    assert refused(pair) == kind


def test_two_outputs_do_not_share_memory():
    pair = [
        replace(one, outputs=[one.outputs[0], replace(one.outputs[0], name="again")])
        for one in captures(lambda at: [])
    ]
    assert refused(pair) == "outputs_alias"


@pytest.mark.parametrize("change", [{"grid": [5, 1, 1]}, {"function": "other"}, {"image": 1}])
def test_a_function_that_does_something_else_the_second_time_is_refused(change):
    changes = iter(({}, change))
    assert refused(captures(lambda at: [kernel(at[0], **next(changes))])) == "not_repeatable"
    lengths = iter((1, 2))
    assert refused(captures(lambda at: [kernel(at[0])] * next(lengths))) == "not_repeatable"


def test_a_plan_that_was_damaged_is_no_plan():
    plan = write_plan({"launches": []}, [b"one", b"two"])
    assert read_plan(plan)[1] == [b"one", b"two"]
    for damaged in (plan[:40], plan[:-1], plan + b"x", plan[:-1] + b"?", b"X" + plan[1:]):
        with pytest.raises(ValueError, match="plan"):
            read_plan(damaged)


def test_a_candidate_s_modules_are_those_it_compiled(tmp_path):
    scratch = tmp_path / "scratch"
    (scratch / "build").mkdir(parents=True)
    (scratch / "build" / "inline.so").write_bytes(b"\x7fELF...\0_Z4minePf\0...")
    origin = live.file_origin(scratch)
    assert origin("", "kernel") == "candidate"
    assert origin(str(scratch / "cache" / "kernel.cubin"), "kernel") == "candidate"
    assert origin(f"{scratch}/../libcublas.so", "gemm") == "library"
    assert origin(None, "_Z4minePf") == "candidate"
    assert origin(None, "gemm") == "library"


def test_a_source_that_cannot_be_traced_has_a_refusal_for_each_signature(tmp_path):
    signature = {"inputs": [], "outputs": ["out"]}
    request = {"source": "def run(:", "name": "broken", "target": "sm_90", "entry": "run"}
    answers = live.capture_source(
        {**request, "signatures": [signature, signature], "scratch": str(tmp_path)}
    )
    assert [one["refusal"]["kind"] for one in answers] == ["compile_error"] * 2
    assert "SyntaxError" in answers[0]["refusal"]["message"]
    missing = {**request, "source": "print('hello')", "signatures": [signature]}
    (answer,) = live.capture_source({**missing, "scratch": str(tmp_path)})
    assert answer["refusal"]["kind"] == "missing_entry_point"
    assert answer["variants"] == []
