"""Processes of the library are killed while it judges: verdicts stay right or blame the machine.

benchmarks/faults does the same at random, and some hundred times.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="Triton is not installed")

ROOT = Path(__file__).resolve().parents[2]
DRIVERS = sorted(ROOT.glob("build/*/tests/cpp/libfake_cuda_good.so"))
sys.path.append(str(ROOT / "benchmarks" / "faults"))

from candidates import MIX  # noqa: E402
from kills import LIMITS  # noqa: E402
from processes import below, kill  # noqa: E402
from referees import Referee, on_fake_gpu  # noqa: E402

pytestmark = pytest.mark.skipif(not DRIVERS, reason="the fake driver is not built: run `make test`")

PATIENCE_SECONDS = 120
TRIES = 20
RIGHT = {known.name: known.status for known in MIX}

# What is killed while which candidate is judged, in this order: whom the last kill left without a
# zygote is next.
KILLS = [
    ("compiler", "host honest"),
    ("compiler", "host zeros"),
    ("sandbox of the compiler", "host honest"),
    ("sandbox of the compiler", "host reads a file"),
    ("executor", "host honest"),
    ("executor", "host aborts"),
    ("executor", "host honest, timed"),
    ("cuda compiler", "cuda honest"),
    ("cuda compiler", "cuda skips its tail"),
    ("sandbox of the cuda compiler", "cuda honest"),
    ("cuda executor", "cuda honest"),
    ("cuda executor", "triton traps"),
    ("cuda executor", "triton honest"),
    ("tracer", "triton honest"),
    ("tracer", "triton on the host"),
    ("assembler", "triton honest"),
    ("supervisor", "triton honest"),
    ("supervisor", "triton skips its tail"),
    ("zygote", "triton honest"),
    ("sandbox of the zygote", "triton skips its tail"),
]


def _judge(referee: Referee, name: str) -> dict:
    referee.ask({"id": 0, "candidate": name})
    return referee.answer(PATIENCE_SECONDS)


def _judge_undisturbed(referee: Referee) -> None:
    """Has everything started that stays: compilers' versions, the zygotes of both tracers."""
    for name in ("host honest, timed", "triton honest", "triton on the host", "cuda honest"):
        said = _judge(referee, name)
        assert said["status"] == RIGHT[name], said["summary"]


def _killed_one(referee: Referee, kind: str) -> bool:
    """Kills the first process of a kind that is seen before there is a verdict."""
    patience = time.monotonic() + PATIENCE_SECONDS
    while referee.answers.empty() and time.monotonic() < patience:
        for process in below(referee.process.pid):
            if process.kind == kind and kill(process, signal.SIGKILL):
                return True
    return False


def _judge_disturbed(referee: Referee, name: str, kind: str) -> dict:
    """Repeats a verdict in which no process of the kind was seen: some are brief."""
    for _ in range(TRIES):
        referee.ask({"id": 1, "candidate": name})
        assert "started" in referee.answers.get(timeout=PATIENCE_SECONDS)
        killed = _killed_one(referee, kind)
        said = referee.answer(PATIENCE_SECONDS)
        if killed:
            return said
    raise AssertionError(f"no {kind} was seen in {TRIES} verdicts")


@pytest.fixture(scope="module")
def referee() -> Iterator[Referee]:
    with on_fake_gpu(DRIVERS[0], LIMITS) as one:
        _judge_undisturbed(one)
        yield one


@pytest.fixture(scope="module")
def before(referee: Referee):
    return referee.census()


@pytest.mark.parametrize(("kind", "name"), KILLS)
def test_a_kill_is_never_the_candidates_fault(referee, before, kind: str, name: str) -> None:
    said = _judge_disturbed(referee, name, kind)
    assert said["status"] in (RIGHT[name], "infrastructure_error"), said["summary"]
    if said["status"] == "infrastructure_error":
        assert not [one for one in said["findings"] if one[1] == "cheat"]


def test_a_gpu_that_could_not_be_asked_for_is_asked_for_again() -> None:
    with on_fake_gpu(DRIVERS[0], LIMITS) as fresh:
        fresh.ask({"descriptors": 4})
        said = _judge(fresh, "cuda honest")
        assert said["status"] == "infrastructure_error", said["summary"]
        fresh.ask({"descriptors": 400})
        said = _judge(fresh, "cuda honest")
        assert said["status"] == "ok", said["summary"]


def test_nothing_is_left_of_what_was_killed(referee, before) -> None:
    _judge_undisturbed(referee)  # What was lost is started again.
    assert referee.census() == before
