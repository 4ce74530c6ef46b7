"""@triton.autotune and @triton.heuristics."""

from __future__ import annotations

from typing import Any

import pytest

KERNEL = """
@triton.jit
def double(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)


def run(x):
    out = torch.empty_like(x)
    double[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel())
    return out
"""


def tuned(arguments: str, configs: str = "") -> str:
    configs = (
        configs
        or """
    triton.Config({"BLOCK": 128}, num_warps=2),
    triton.Config({"BLOCK": 256}, num_warps=4, num_stages=2),
    triton.Config({"BLOCK": 1024}, num_warps=8, maxnreg=32),
"""
    )
    return f"@triton.autotune(configs=[{configs}], {arguments})" + KERNEL


def test_every_configuration_is_a_variant(dry: Any) -> None:
    outcome = dry(tuned("key=['n']"), dry.tensor("x", [1000]))
    assert outcome.refusal is None
    assert [plan["variant"] for plan in outcome.plans] == [
        "BLOCK=128 num_warps=2 num_stages=3",
        "BLOCK=256 num_warps=4 num_stages=2",
        "BLOCK=1024 num_warps=8 num_stages=3 maxnreg=32",
    ]
    launches = [plan["launches"][0] for plan in outcome.plans]
    assert [launch["grid"][0] for launch in launches] == [8, 4, 1]
    assert [launch["block"][0] for launch in launches] == [64, 128, 256]
    assert [kernel["num_warps"] for kernel in outcome.kernels] == [2, 4, 8]
    assert [kernel["num_stages"] for kernel in outcome.kernels] == [3, 2, 3]
    made = [source["kernels"][0] for source in outcome.sources]
    assert [one["arguments"][-1] for one in made] == [
        {"name": "BLOCK", "value": block} for block in (128, 256, 1024)
    ]
    usual = {"enable_fp_fusion": True}
    assert [one["options"] for one in made] == [
        {**usual, "num_warps": 2},
        {**usual, "num_stages": 2},
        {**usual, "num_warps": 8, "maxnreg": 32},
    ]


def test_one_configuration_has_no_name(dry: Any) -> None:
    outcome = dry(
        tuned("key=['n']", 'triton.Config({"BLOCK": 256}, num_warps=8)'),
        dry.tensor("x", [1000]),
    )
    assert outcome.plan["variant"] == ""
    assert outcome.plan["launches"][0]["block"] == [256, 1, 1]


@pytest.mark.parametrize(
    ("prune", "blocks"),
    [
        (
            "{'early_config_prune': lambda configs, named, **_: "
            "[c for c in configs if c.kwargs['BLOCK'] < named['n']]}",
            [128, 256],
        ),
        ("{'perf_model': lambda BLOCK, **_: -BLOCK, 'top_k': 2}", [1024, 256]),
        ("{'perf_model': lambda num_warps, **_: num_warps, 'top_k': 1}", [128]),
    ],
)
def test_pruning_is_honoured(dry: Any, prune: str, blocks: list[int]) -> None:
    outcome = dry(tuned(f"key=['n'], prune_configs_by={prune}"), dry.tensor("x", [1000]))
    assert outcome.refusal is None, outcome.refusal
    grids = [plan["launches"][0]["grid"][0] for plan in outcome.plans]
    assert grids == [-(-1000 // block) for block in blocks]


def test_a_configuration_that_does_not_fit_is_dropped_with_a_note(dry: Any) -> None:
    source = """
@triton.autotune(configs=[
    triton.Config({"BLOCK": 128, "DEPTH": 128}, num_stages=6, num_warps=8),
    triton.Config({"BLOCK": 64, "DEPTH": 32}, num_stages=2),
    triton.Config({"BLOCK": 128, "DEPTH": 128}, num_stages=7, num_warps=8),
], key=["n"])
@triton.jit
def product(a, b, out, n, BLOCK: tl.constexpr, DEPTH: tl.constexpr):
    row, column = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, n, DEPTH):
        deep = start + tl.arange(0, DEPTH)
        total = tl.dot(tl.load(a + row * n + deep[None, :]),
                       tl.load(b + deep[:, None] * 128 + column), total)
    tl.store(out + row * 128 + column, total)

def run(a, b):
    out = torch.empty((128, 128), device="cuda")
    product[lambda meta: (1,)](a, b, out, 4096)
    return out
"""
    inputs = dry.tensor("a", [128, 4096], "float16"), dry.tensor("b", [4096, 128], "float16")
    outcome = dry(source, *inputs)
    assert [plan["variant"][:8] for plan in outcome.plans] == ["BLOCK=64"]
    assert len(outcome.notes) == 2
    assert all("shared memory" in note for note in outcome.notes)


def test_two_autotuners_vary_one_at_a_time(dry: Any) -> None:
    source = (
        tuned("key=['n']")
        + """
@triton.autotune(configs=[triton.Config({}, num_warps=w) for w in (1, 2)], key=[])
@triton.jit
def negate(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, -tl.load(x + at))

double_only = run

def run(x):
    doubled = double_only(x)
    out = torch.empty_like(x)
    negate[(1,)](doubled, out, BLOCK=256)
    return out
"""
    )
    outcome = dry(source, dry.tensor("x", [256]))
    assert [plan["variant"] for plan in outcome.plans] == [
        "double: BLOCK=128 num_warps=2 num_stages=3; negate: num_warps=1 num_stages=3",
        "double: BLOCK=256 num_warps=4 num_stages=2; negate: num_warps=1 num_stages=3",
        "double: BLOCK=1024 num_warps=8 num_stages=3 maxnreg=32; negate: num_warps=1 num_stages=3",
        "double: BLOCK=128 num_warps=2 num_stages=3; negate: num_warps=2 num_stages=3",
    ]


def test_variants_are_capped_with_a_note(dry: Any) -> None:
    outcome = dry(tuned("key=['n']"), dry.tensor("x", [1000]), max_variants=2)
    assert len(outcome.plans) == 2
    assert outcome.notes == ["only the first 2 configurations were traced"]


def test_what_only_happens_while_triton_tunes_is_not_recorded(dry: Any) -> None:
    outcome = dry(
        tuned("key=['n'], reset_to_zero=['out'], restore_value=['x']"), dry.tensor("x", [1000])
    )
    assert [plan.kinds for plan in outcome.plans] == [["kernel"]] * 3


@pytest.mark.parametrize("hook", ["pre_hook", "post_hook"])
def test_hooks_of_tuning_are_refused_by_name(dry: Any, hook: str) -> None:
    refusal = dry(tuned(f"key=['n'], {hook}=lambda *_, **__: None"), dry.tensor("x", [9])).refused
    assert (refusal["kind"], refusal["op"]) == ("unsupported", f"triton.autotune {hook}")


def test_the_hook_of_a_configuration_is_host_code_like_any_other(dry: Any) -> None:
    outcome = dry(
        tuned(
            "key=['n']",
            """triton.Config({"BLOCK": 128}, pre_hook=lambda args: args["out"].zero_()),
               triton.Config({"BLOCK": 256})""",
        ),
        dry.tensor("x", [1000]),
    )
    assert [plan.kinds for plan in outcome.plans] == [["memset", "kernel"], ["kernel"]]


def test_heuristics(dry: Any) -> None:
    source = (
        "@triton.heuristics({'BLOCK': lambda args: triton.next_power_of_2(args['n']), "
        "'num_warps': lambda args: 8})" + KERNEL
    )
    launch = dry(source, dry.tensor("x", [1000])).plan["launches"][0]
    assert (launch["grid"], launch["block"]) == ([1, 1, 1], [256, 1, 1])


def test_autotune_over_heuristics(dry: Any) -> None:
    source = (
        "@triton.autotune(configs=[triton.Config({}, num_warps=w) for w in (1, 2)], key=['n'])\n"
        "@triton.heuristics({'BLOCK': lambda args: 64 * args['num_warps']})" + KERNEL
    )
    outcome = dry(source, dry.tensor("x", [1000]))
    assert [plan["launches"][0]["grid"][0] for plan in outcome.plans] == [16, 8]
