"""As-called times without a GPU: blocks, requests and answers, and what becomes of a verdict.

tests/gpu/test_as_called.py has the GPU.
"""

from __future__ import annotations

import base64
import fcntl
import importlib.util
import itertools
import json
import math
import pickle
import sys
import textwrap
import threading
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import ouroboros
import pytest
import torch
from ouroboros import as_called as client
from ouroboros import problems
from ouroboros.trace import as_called
from ouroboros.trace.live import TraceRefusedError, UnavailableError
from ouroboros.trace.zygote import live_command_line
from ouroboros.verdict import Verdict
from typer.testing import CliRunner

ROOT = Path(__file__).parents[2]
RECORD = (ROOT / "benchmarks" / "results" / "h200" / "verdict_rmsnorm_row.json").read_text()
ZYGOTE = ROOT / "tests" / "python" / "zygote"
MS = 1_000_000

KERNEL = """
import torch

def run(x, weight):
    return x * (x.square().mean(-1, True) + 1e-6).rsqrt() * weight
"""


class Clock:
    """A clock that calls move."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        return self.now

    def call(self, ns: int) -> Callable[[], None]:
        def move() -> None:
            self.now += ns

        return move


def same_order(arms: int) -> Iterator[list[int]]:
    return as_called.orders(arms, Random(1))


# Blocks.


@pytest.mark.parametrize("arms", [2, 3])
def test_a_block_is_a_permutation_and_its_mirror_image(arms: int) -> None:
    found = list(itertools.islice(as_called.orders(arms, Random(7)), 200))
    for order in found:
        assert order[:arms] == order[arms:][::-1]
        assert sorted(order[:arms]) == list(range(arms))
    seen = {tuple(order) for order in found}
    assert len(seen) == math.factorial(arms)
    if arms == 2:
        fair = sum(order == [0, 1, 1, 0] for order in found)
        assert 70 < fair < 130


@pytest.mark.parametrize("ns", [500, 20_000, 300_000, 1_500_000])
def test_a_slot_takes_about_two_milliseconds(ns: int) -> None:
    clock = Clock()
    count, _ = as_called.calls_for(clock.call(ns), clock.call(9000), clock)
    assert 0.5 * as_called.SLOT_NS < count * ns <= as_called.SLOT_NS


def test_a_long_call_is_called_once() -> None:
    clock = Clock()
    assert as_called.calls_for(clock.call(50 * MS), clock.call(0), clock) == (1, 50 * MS)


def test_samples_are_times_of_one_call_in_microseconds() -> None:
    clock = Clock()
    arms = [clock.call(20_000), clock.call(50_000)]
    blocks = as_called.measured(arms, clock.call(0), same_order(2), clock)
    assert [len(one) for one in blocks] == [len(blocks[0])] * 2
    assert len(blocks[0]) >= 50
    assert set(blocks[0]) == {(20.0, 20.0)}
    assert set(blocks[1]) == {(50.0, 50.0)}


def test_waiting_is_part_of_a_slot() -> None:
    clock = Clock()
    ((first, _), *_), _ = as_called.measured(
        [clock.call(MS), clock.call(MS)], clock.call(MS), same_order(2), clock
    )
    assert first == 2000.0


@pytest.mark.parametrize("ns", [10_000, 3 * MS, 12 * MS])
def test_a_cell_takes_at_most_half_a_second(ns: int) -> None:
    clock = Clock()
    arms = [clock.call(ns), clock.call(ns), clock.call(2 * ns)]
    for arm in arms:
        as_called.calls_for(arm, clock.call(0), clock)
    before = trials = clock.now
    blocks = as_called.measured(arms, clock.call(0), same_order(3), clock)
    assert len(blocks[0]) >= as_called.LEAST_BLOCKS
    assert clock.now - before <= as_called.CELL_NS + trials


def test_calls_that_are_too_long_have_no_figure() -> None:
    clock = Clock()
    with pytest.raises(TraceRefusedError, match="do not fit into 500 ms") as caught:
        arms = [clock.call(40 * MS), clock.call(40 * MS)]
        as_called.measured(arms, clock.call(0), same_order(2), clock)
    assert caught.value.kind == "too_slow"


# The process's side.


def specs(*shapes: list[int], dtype: str = "float32") -> list[dict[str, Any]]:
    return [
        {"name": f"x{i}", "dtype": dtype, "shape": shape, "strides": None}
        for i, shape in enumerate(shapes)
    ]


def how(*values: str, bound: int | None = None) -> dict[str, Any]:
    return {"seed": 3, "inputs": [{"values": one, "bound": bound} for one in values]}


def test_inputs_are_of_their_kind() -> None:
    real, positive, angle = as_called.drawn(
        specs([1000], [1000], [1000]), how("real", "positive", "angle"), "cpu"
    )
    assert real.min() < -1 and positive.min() > 0
    assert -1 <= angle.min() < -0.9 and 0.9 < angle.max() <= 1
    (index,) = as_called.drawn(specs([1000], dtype="int64"), how("index", bound=5), "cpu")
    assert sorted(index.unique().tolist()) == [0, 1, 2, 3, 4]
    (zero,) = as_called.drawn(specs([10], dtype="int32"), how("real"), "cpu")
    assert zero.dtype == torch.int32 and not zero.any()
    for dtype in ("bool", "float16", "int64"):
        mask, scalar = as_called.drawn(specs([50, 3], [], dtype=dtype), how("mask", "mask"), "cpu")
        assert sorted(mask.unique().tolist()) == [0, 1] and mask.any(1).all()
        assert scalar.shape == ()
    ends, order = as_called.drawn(
        specs([4, 7], [4, 6], dtype="int64"), how("offsets", "permutation", bound=6), "cpu"
    )
    assert not ends[:, 0].any() and ends[:, -1].eq(5).all() and ends.diff().ge(0).all()
    assert order.sort(-1).values.eq(torch.arange(6)).all()
    (half,) = as_called.drawn(specs([2, 3], dtype="float16"), how("real"), "cpu")
    assert (half.dtype, half.shape) == (torch.float16, (2, 3))


def test_a_gross_difference_is_noticed_and_rounding_is_not() -> None:
    x = torch.randn(100)
    assert as_called.disagreement(x + 1e-3, x) == ""
    assert as_called.disagreement((x, x), [x, x]) == ""
    assert as_called.disagreement(torch.full((2,), math.nan), torch.full((2,), math.nan)) == ""
    assert as_called.disagreement(torch.empty(0), torch.empty(0)) == ""
    assert "number 0 is far" in as_called.disagreement(x + 1, x)
    assert "returned 0 tensors" in as_called.disagreement(None, x)
    assert "(50,)" in as_called.disagreement(x[:50], x)


def request(source: str, problem: dict[str, str], tmp_path: Path, cells: int = 1) -> dict[str, Any]:
    document = {**how("real", "real"), "problem": problem, "baselines": []}
    return {
        "source": source,
        "name": "../mine.py",
        "signatures": [{"inputs": specs([8, 16], [16]), "outputs": ["out"]}] * cells,
        "inputs": [[json.dumps(document).encode()]] * cells,
        "scratch": str(tmp_path),
    }


def called(source: str, tmp_path: Path, cells: int = 1) -> list[dict[str, Any]]:
    asked = request(source, {"origin": "builtin:rmsnorm"}, tmp_path, cells)
    return as_called.run(asked, "cpu", lambda: None)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few blocks, however slow this machine is just now."""
    monkeypatch.setattr(as_called, "CELL_NS", 60_000 * MS)
    monkeypatch.setattr(as_called, "MOST_BLOCKS", as_called.LEAST_BLOCKS)


def test_candidate_and_eager_are_called_and_the_compiler_only_on_request(
    quick: None, tmp_path: Path
) -> None:
    first, second = called(KERNEL, tmp_path, cells=2)
    for result in (first, second):
        assert result["refusal"] is None, result["refusal"]
        candidate, eager, compiled = result["outputs"]
        assert candidate["shape"] == eager["shape"] != compiled["shape"] == [0, 2]
        assert len(candidate["bytes"]) == 16 * candidate["shape"][0]
        assert min(array("d", candidate["bytes"])) > 0
    assert client.ARMS == as_called.ARMS


@pytest.mark.parametrize(
    ("source", "kind", "message"),
    [
        ("def run(x, weight):\n    return x\n", "disagrees", "far from the reference's"),
        ("def run(x, weight):\n    raise ValueError('no')\n", "failed", "ValueError: no"),
        ("def run(x, weight:\n", "compile_error", "SyntaxError"),
        ("walk = 1\n", "missing_entry_point", "no function 'run'"),
    ],
)
def test_a_candidate_that_cannot_be_called_has_no_figure(
    tmp_path: Path, source: str, kind: str, message: str
) -> None:
    for result in called(source, tmp_path, cells=2):
        assert result["refusal"]["kind"] == kind
        assert message in result["refusal"]["message"]
        assert [one["shape"] for one in result["outputs"]] == [[0, 2]] * 3


def test_a_reference_that_is_not_to_be_had_is_not_the_candidate_s_fault(tmp_path: Path) -> None:
    asked = request(KERNEL, {"origin": "builtin:softmin"}, tmp_path)
    (result,) = as_called.run(asked, "cpu", lambda: None)
    assert result["refusal"]["kind"] == "reference"


def test_without_a_gpu_the_process_is_not_made_ready() -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    with pytest.raises(UnavailableError):
        as_called.prepare()


# The referee's side.


class Tracer:
    """Answers as a tracer's process might."""

    def __init__(self, answer: Callable[[dict[str, Any]], Any]) -> None:
        self.answer = answer
        self.asked: dict[str, Any] = {}

    def trace(self, source: bytes, **options: Any) -> Any:
        self.asked = {"source": source, **options}
        return self.answer(options)


def times(*blocks: tuple[float, float]) -> dict[str, Any]:
    values = array("d", itertools.chain.from_iterable(blocks)).tobytes()
    return {"dtype": "float64", "shape": [len(blocks), 2], "bytes": values}


def result(candidate: dict[str, Any], *others: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "outputs": [candidate, *others],
        "notes": [],
        "refusal": None,
        "missing": ["a tracer has no pid namespace"],
        **changes,
    }


STEADY = result(times(*[(10.0, 10.0)] * 8), times(*[(20.0, 20.0)] * 8), times(*[(5.0, 5.0)] * 8))


def refusing(message: str) -> dict[str, Any]:
    refusal = {"kind": "failed", "op": "", "message": message, "traceback": ""}
    return result(times(), times(), times(), refusal=refusal)


def verdict(**changes: Any) -> Verdict:
    return Verdict.from_json(json.dumps({**json.loads(RECORD), **changes}))


def filled(answers: list[dict[str, Any]], given: Verdict | None = None) -> Verdict:
    given = given or verdict()
    found = client.with_as_called(
        given, problems.load("rmsnorm"), KERNEL.encode(), Tracer(lambda _: answers)
    )
    assert Verdict.from_json(found.to_json()) == found
    return found


def new_notes(found: Verdict) -> dict[str, str]:
    notes = found.findings[len(verdict().findings) :]
    assert all((one.severity, one.stage) == ("note", "time") for one in notes)
    return {one.kind: one.evidence for one in notes}


def without_as_called(found: Verdict) -> Any:
    record = json.loads(found.to_json())
    record["findings"] = [
        one for one in record["findings"] if not one["kind"].startswith("as_called")
    ]
    for cell in record["timing"]["cells"]:
        cell["as_called_us"] = None
        for one in cell["baselines"]:
            one["as_called_us"] = one["as_called_speedup"] = None
    return record


def test_times_and_ratios_go_where_they_belong_and_nothing_else_changes() -> None:
    found = filled([STEADY, STEADY])
    for cell in found.timing.cells:
        assert cell.as_called_us is not None and cell.as_called_us.estimate == 10.0
        by_name = {one.name: one for one in cell.baselines}
        assert by_name["eager"].as_called_us.estimate == 20.0
        assert by_name["eager"].as_called_speedup.estimate == pytest.approx(2.0)
        assert by_name["compile"].as_called_speedup.estimate == pytest.approx(0.5)
        assert by_name["max-autotune"].as_called_us is None
    assert without_as_called(found) == without_as_called(verdict())
    assert found.reward() == verdict().reward()
    assert found.status is verdict().status
    evidence = new_notes(found)["as_called"]
    assert "a claim" in evidence and "no pid namespace" in evidence


def test_intervals_hold_the_truth_of_noisy_times() -> None:
    draw = Random(5)

    def noisy(mean: float) -> dict[str, Any]:
        return times(*[(mean * draw.gauss(1, 0.02), mean * draw.gauss(1, 0.02)) for _ in range(40)])

    cell = filled([result(noisy(30), noisy(60), times())] * 2).timing.cells[0]
    assert cell.as_called_us.low < 30 < cell.as_called_us.high
    (eager, compiled, _) = cell.baselines
    assert eager.as_called_speedup.low < 2 < eager.as_called_speedup.high
    assert eager.as_called_speedup.high - eager.as_called_speedup.low < 0.1
    assert compiled.as_called_us is None


def test_a_cell_that_fails_leaves_the_others() -> None:
    broken = result(STEADY["outputs"][0], STEADY["outputs"][1], times(), notes=["compile: no"])
    found = filled([broken, refusing("It failed with ValueError: no")])
    first, second = found.timing.cells
    assert first.as_called_us is not None and second.as_called_us is None
    evidence = [one.evidence for one in found.findings if one.kind == "as_called_unavailable"]
    assert evidence == [
        "float32 cols=4096 rows=8192: compile: no",
        "float32 cols=4096 rows=1024: It failed with ValueError: no",
    ]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (refusing("no"), "no"),
        (result(times(), times(), times()), "no times"),
        (result(times((1.0, 1.0))), "no times"),
        (result(times(*[(1.0, math.nan)] * 8), times(), times()), "times that are none"),
        (result(times(*[(1.0, -1.0)] * 8), times(), times()), "times that are none"),
        (result(times(*[(1.0, math.inf)] * 8), times(), times()), "times that are none"),
        (result(times(*[(1.0, 1.0)] * 8), times((1.0, 1.0)), times()), "unequal numbers"),
        (result(times(*[(1.0, 1.0)] * 2000), times(), times()), "something else"),
        (
            result({"dtype": "float32", "shape": [8, 2], "bytes": b"1234" * 16}, times(), times()),
            "something else",
        ),
    ],
)
def test_what_are_no_times_is_said_and_changes_nothing(answer: dict[str, Any], reason: str) -> None:
    found = filled([answer, answer])
    assert without_as_called(found) == without_as_called(verdict())
    ((kind, evidence),) = new_notes(found).items()
    assert kind == "as_called_unavailable"
    assert reason in evidence and "cols" not in evidence


def test_the_request_has_shapes_dtypes_and_the_problem() -> None:
    tracer = Tracer(lambda _: [STEADY, STEADY])
    client.with_as_called(verdict(), problems.load("rmsnorm"), b"source", tracer)
    asked = tracer.asked
    assert (asked["operation"], asked["source"], asked["language"]) == (
        "as_called", b"source", "triton",
    )  # fmt: skip
    assert asked["signatures"][1] == [
        ("x", "float32", [1024, 4096]),
        ("weight", "float32", [4096]),
    ]
    document = json.loads(asked["values"][0][0])
    assert document["problem"] == {"origin": "builtin:rmsnorm"}
    assert document["baselines"] == ["eager", "compile"]


def test_indices_are_bounded_by_their_axis() -> None:
    cell = verdict().timing.cells[0].model_copy(update={"axes": {"rows": 8, "classes": 5}})
    problem = problems.from_callable(
        lambda x, at, n, ends: x.gather(-1, at.unsqueeze(-1)) * n.unsqueeze(-1),
        inputs={
            "x": "rows 2*classes",
            "at": ouroboros.Input(
                "at", ["rows"], dtype="int64", values="index", index_axis="classes"
            ),
            "n": ouroboros.Input(
                "n", ["rows"], dtype="int64", values="length", index_axis="classes"
            ),
            "ends": ouroboros.Input(
                "ends", ["rows"], dtype="int64", values="offsets", index_axis="classes"
            ),
        },
    )
    document = client._document(problem, cell, {}, 1)
    assert document["inputs"] == [
        {"values": "real", "bound": None},
        {"values": "index", "bound": 5},
        {"values": "length", "bound": 6},
        {"values": "offsets", "bound": 6},
    ]
    assert client._signature(problem, cell) == [
        ("x", "float32", [8, 10]),
        ("at", "int64", [8]),
        ("n", "int64", [8]),
        ("ends", "int64", [8]),
    ]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"language": "cuda"}, "no host code in Python"),
        ({"language": "ptx"}, "no host code in Python"),
        ({"language": "cpp"}, "in cpp"),
        ({"timing": {**json.loads(RECORD)["timing"], "cells": []}}, "nothing was timed"),
    ],
)
def test_what_cannot_be_called_gets_a_note(changes: dict[str, Any], reason: str) -> None:
    given = verdict(**changes)
    found = filled([], given)
    assert found.timing == given.timing and found.status is given.status
    assert reason in new_notes(found)["as_called_unavailable"]


def test_a_verdict_that_is_not_ok_stays_as_it_is() -> None:
    given = verdict(status="rejected")
    assert filled([], given) is given


def raising(error: Exception) -> Callable[[Any], Any]:
    def answer(_: Any) -> Any:
        raise error

    return answer


def test_a_machine_that_cannot_do_it_gets_a_note_and_a_cancelled_call_ends() -> None:
    given, problem = verdict(), problems.load("rmsnorm")
    broken = Tracer(raising(ouroboros.SandboxUnavailableError("no GPU in there")))
    found = client.with_as_called(given, problem, b"", broken)
    assert new_notes(found) == {"as_called_unavailable": "no GPU in there"}
    with pytest.raises(ouroboros.CancelledError):
        client.with_as_called(given, problem, b"", Tracer(raising(ouroboros.CancelledError("so"))))


def test_a_reference_that_cannot_be_sent_gets_a_note() -> None:
    lock = threading.Lock()
    problem = problems.from_callable(lambda x: (x, lock)[0], inputs={"x": "rows"})
    found = client.with_as_called(verdict(), problem, b"", Tracer(lambda _: []))
    assert "cannot be sent" in new_notes(found)["as_called_unavailable"]


def test_a_reference_from_a_file_travels_by_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "doubled.py"
    file.write_text(
        textwrap.dedent(
            """
            import ouroboros

            FACTOR = 2

            def scaled(x):
                return x * FACTOR

            @ouroboros.problem(inputs={"x": "rows"})
            def doubled(x):
                return scaled(x)
            """
        )
    )
    problem = problems.load(file)
    sent = base64.b64decode(client._sent(problem)["pickle"])
    for name in [name for name in sys.modules if name.startswith("_ouroboros_problem_")]:
        monkeypatch.delitem(sys.modules, name)
    assert pickle.loads(sent)(torch.ones(2)).tolist() == [2, 2]


def test_the_gpu_s_lock_is_waited_for_until_the_call_is_cancelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with client.gpu_lock(3):
        asked = []
        with (
            pytest.raises(ouroboros.CancelledError),
            client.gpu_lock(3, lambda: bool(asked.append(1) or len(asked) > 2)),
        ):
            pytest.fail("it was not locked")
        with client.gpu_lock(4):
            pass
    with client.gpu_lock(3):
        pass
    assert (tmp_path / "ouroboros-gpu-3.lock").exists()


def test_while_the_gpu_s_lock_is_waited_for_nobody_else_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    lock, queue = (tmp_path / f"ouroboros-gpu-3.{suffix}" for suffix in ("lock", "queue"))
    with client.gpu_lock(3), queue.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # Nobody waits.
        with pytest.raises(ouroboros.CancelledError), client.gpu_lock(3, lambda: True):
            pytest.fail("it did not queue")

    def is_queued() -> bool:
        with queue.open() as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True

    # One that traces shares the lock.
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        with pytest.raises(ouroboros.CancelledError), client.gpu_lock(3, is_queued):
            pytest.fail("it was not locked")


def test_a_lock_that_cannot_be_had_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/nowhere/at/all")
    with client.gpu_lock(3):
        pass


# The whole way but the GPU.


@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="Triton is not installed")
def test_a_sandboxed_process_calls_a_candidate() -> None:
    line = live_command_line()
    tracer = ouroboros._ouroboros.Tracer(
        command=[*line.command, "--operation", "as_called=fake_called:run",
                 "--preload", "fake_called"],
        readable=[*line.readable, str(ZYGOTE)],
        environment={
            **line.environment, "PYTHONPATH": f"{line.environment['PYTHONPATH']}:{ZYGOTE}",
        },
        limits=ouroboros.Limits(),
        gpu=True,
    )  # fmt: skip
    given = verdict()
    cells = tuple(
        cell.model_copy(update={"axes": {"rows": 8, "cols": cols}})
        for cell, cols in zip(given.timing.cells, (16, 32), strict=True)
    )
    cells = tuple(cell.model_copy(update={"baselines": cell.baselines[:1]}) for cell in cells)
    given = given.model_copy(update={"timing": given.timing.model_copy(update={"cells": cells})})
    problem = problems.load("rmsnorm")
    found = client.with_as_called(given, problem, KERNEL.encode(), tracer)
    for cell in found.timing.cells:
        assert cell.as_called_us is not None, found.findings
        assert 1 < cell.as_called_us.estimate < 1e5
        assert cell.baselines[0].as_called_speedup is not None
    assert "address space is not limited" in new_notes(found)["as_called"]
    dies = client.with_as_called(given, problem, b"import os; os._exit(3)", tracer)
    assert "status 3" in new_notes(dies)["as_called_unavailable"]
    sent = problems.from_callable(lambda x: x * 2, inputs={"x": "rows cols"})
    doubled = client.with_as_called(given, sent, b"def run(x): return x + x", tracer)
    assert doubled.timing.cells[1].as_called_us is not None, doubled.findings


def test_a_referee_keeps_the_option_when_it_is_sent() -> None:
    for wanted in (False, True):
        referee = ouroboros.Referee(as_called=wanted, mode="screen")
        assert pickle.loads(pickle.dumps(referee))._as_called is wanted
    assert ouroboros.Referee(mode="screen")._as_called is False


def test_a_referee_asks_only_if_it_was_told_to() -> None:
    source = "def run(x, weight):\n    return x\n"
    for wanted in (False, True):
        referee = ouroboros.Referee(as_called=wanted, mode="screen", target="sm_90")

        class Native:
            def judge_json(self, *_: Any, **__: Any) -> str:
                return RECORD

        referee._native = Native()
        referee._live_tracer = Tracer(lambda _: [STEADY, STEADY])
        found = referee.judge("rmsnorm", source, language="triton")
        assert (found.timing.cells[0].as_called_us is not None) is wanted


def test_the_command_line_has_the_flag(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from ouroboros import cli

    seen: list[bool] = []

    def verify(*_: Any, as_called: bool, **__: Any) -> Verdict:
        seen.append(as_called)
        return filled([STEADY, STEADY])

    monkeypatch.setattr(ouroboros, "verify", verify)
    file = tmp_path / "kernel.py"
    file.write_text(KERNEL)
    for flags in ([], ["--as-called"]):
        done = CliRunner().invoke(cli.app, ["judge", str(file), "-p", "rmsnorm", *flags])
        assert done.exit_code == 0, done.output
    assert seen == [False, True]
