"""Candidates that are traced on the GPU, without one: the fake driver, and a fake capture.

Everything but the capture itself is real: the referee's choice of trace, the sandboxed process, the
audit, the sweep. tests/gpu/test_live_candidates.py has the capture.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("triton", reason="Triton is not installed")

ROOT = Path(__file__).resolve().parents[2]
ZYGOTE = ROOT / "tests" / "python" / "zygote"
FAKES = sorted(ROOT.glob("build/*/tests/cpp/libfake_cuda_good.so"))

pytestmark = pytest.mark.skipif(not FAKES, reason="the fake driver is not built: run `make test`")

KERNEL = """
import torch, triton, triton.language as tl

@triton.jit(do_not_specialize=["n"])
def scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) * 2, mask=mask)

def run(x):
    out = torch.empty_like(x)
    if x.numel():
        scale[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out
"""

# A dry trace refuses the sum; the fake capture leaves it out.
ADDS = KERNEL.replace("    out = torch", "    x = x + 0\n    out = torch")


def live(words: str, source: str = ADDS) -> str:
    return f"# live: {words}\n{source}"


JUDGE = """
import json, os, sys
import ouroboros
import ouroboros.referee
from ouroboros.trace.command import make_tracer
from ouroboros.trace.zygote import live_command_line

def fake(limits, ordinal):
    line = live_command_line(ordinal)
    folder = os.environ["FAKE_LIVE"]
    environment = dict(line.environment)
    environment["PYTHONPATH"] += os.pathsep + folder
    if reason := os.environ.get("OUROBOROS_FAKE_LIVE_UNFIT"):
        environment["OUROBOROS_FAKE_LIVE_UNFIT"] = reason
    return ouroboros._ouroboros.Tracer(
        command=[*line.command, "--operation", "trace=fake_live:capture_source",
                 "--preload", "ouroboros.trace.dry", "--preload", "fake_live"],
        readable=[*line.readable, folder], environment=environment, limits=limits, gpu=True)

# One for all verdicts: a tracer takes seconds to start.
made = {}
def kept(make):
    def get(limits, of, *_):
        key = make, limits.compile_seconds
        if key not in made:
            made[key] = make(limits, of)
        return made[key]
    return get

ouroboros.referee.make_tracer = kept(make_tracer)
ouroboros.referee.make_live_tracer = kept(fake)
verdicts = {}
for name, job in json.load(sys.stdin).items():
    verdicts[name] = json.loads(ouroboros.verify(
        job.pop("source"), lambda x: x * 2, inputs={"x": "rows cols"}, dtypes=["float32"],
        timed=[{"rows": 64, "cols": 100}], until="sweep", **job
    ).to_json())
json.dump(verdicts, sys.stdout)
"""

ALLOWED = {"library_kernels": "allow"}
JOBS: dict[str, dict[str, Any]] = {
    "dry": {"source": KERNEL},
    "adds": {"source": ADDS},
    "adds_allowed": {"source": ADDS, **ALLOWED},
    "library": {"source": live("origin library")},
    "library_allowed": {"source": live("origin library"), **ALLOWED},
    "python": {"source": KERNEL, "language": "python"},
    "python_library": {"source": live("origin library", KERNEL), "language": "python"},
    "no_triton_in_it": {
        "source": live("refuse synchronises", "def run(x): return x\n"),
        "language": "triton",
    },
    "random": {"source": live("refuse random"), **ALLOWED},
    "random_forbidden": {"source": live("refuse random")},
    "outputs": {"source": live("refuse output_is_view"), **ALLOWED},
    "failed": {"source": live("refuse failed"), **ALLOWED},
    "builds": {"source": live("builds", KERNEL), "language": "python"},
    "crowded": {"source": live("crowded", KERNEL), "language": "python"},
    "blames_the_machine": {"source": live("refuse unavailable"), **ALLOWED},
    "dies": {"source": live("run import os; os._exit(1)"), **ALLOWED},
    "sleeps": {
        "source": live("run import time; time.sleep(60)"),
        "limits": {"compile_seconds": 0.5},
        **ALLOWED,
    },
    "wrong": {"source": ADDS.replace("scale", "skip_tail"), **ALLOWED},
}


WITHOUT_GPU: dict[str, dict[str, Any]] = {
    name: {**JOBS[name], "target": "sm_90"} for name in ("adds", "adds_allowed", "python")
}


def judged(jobs: dict[str, dict[str, Any]], **environment: str) -> dict[str, Any]:
    """Judges in a process of its own, whose driver is the fake one."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(JUDGE)],
        input=json.dumps(jobs),
        env={**os.environ, "FAKE_LIVE": str(ZYGOTE), **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    verdicts: dict[str, Any] = json.loads(done.stdout)
    return verdicts


@pytest.fixture(scope="module")
def verdicts() -> dict[str, Any]:
    return judged(JOBS, OUROBOROS_LIBCUDA=str(FAKES[0]))


@pytest.mark.parametrize(
    ("name", "status", "trace"),
    [
        ("dry", "ok", "dry"),
        ("adds", "ok", "live"),
        ("adds_allowed", "ok", "live"),
        ("library", "rejected", "live"),
        ("library_allowed", "ok", "live"),
        ("python", "ok", "live"),
        ("python_library", "rejected", "live"),
        ("no_triton_in_it", "compile_error", "live"),
        ("random", "compile_error", "live"),
        ("random_forbidden", "rejected", "live"),
        ("outputs", "incorrect", "live"),
        ("failed", "runtime_error", "live"),
        ("builds", "ok", "live"),
        ("crowded", "ok", "live"),
        ("blames_the_machine", "runtime_error", "live"),
        ("dies", "runtime_error", "live"),
        ("sleeps", "timeout", "live"),
        ("wrong", "incorrect", "live"),
    ],
)
def test_what_is_traced_how_and_what_comes_of_it(
    verdicts: dict[str, Any], name: str, status: str, trace: str
) -> None:
    verdict = verdicts[name]
    assert (verdict["status"], verdict["provenance"]["trace"]) == (status, trace), verdict[
        "summary"
    ]


def test_a_library_s_kernel_is_rejected_by_its_name(verdicts: dict[str, Any]) -> None:
    for name in ("library", "python_library"):
        kinds = [one["kind"] for one in verdicts[name]["findings"]]
        assert "library_kernel" in kinds
        assert "'scale'" in verdicts[name]["summary"]
    (kernel,) = verdicts["library_allowed"]["compilation"]["kernels"]
    assert (kernel["function"], kernel["origin"]) == ("scale", "library")


def test_a_forbidden_operator_keeps_its_name_when_a_capture_fails_too(
    verdicts: dict[str, Any],
) -> None:
    assert "aten::add" in verdicts["random_forbidden"]["summary"]


def test_what_a_capture_refuses_is_said(verdicts: dict[str, Any]) -> None:
    assert (
        verdicts["random"]["summary"] == "what it does on a GPU cannot be a launch plan: It did so."
    )
    assert verdicts["random"]["findings"][-1]["kind"] == "random"


def test_the_verdict_says_what_confined_the_host_code(verdicts: dict[str, Any]) -> None:
    notes = [one for one in verdicts["adds"]["findings"] if one["kind"] == "live_trace"]
    (note,) = notes
    assert note["severity"] == "note"
    for part in ("Landlock", "pid namespace", "reaches the GPU's driver"):
        assert part in note["evidence"]
    assert any("a live tracer" in one for one in verdicts["adds"]["isolation"]["missing"])
    assert not [one for one in verdicts["dry"]["findings"] if one["kind"] == "live_trace"]
    assert not any("a live tracer" in one for one in verdicts["dry"]["isolation"]["missing"])


def test_a_machine_that_cannot_trace_live_judges_as_one_without_a_gpu() -> None:
    names = ("adds", "adds_allowed", "python")
    verdicts = judged(
        {name: JOBS[name] for name in names},
        OUROBOROS_LIBCUDA=str(FAKES[0]),
        OUROBOROS_FAKE_LIVE_UNFIT="CUPTI was not found",
    )
    assert verdicts["adds"]["status"] == "rejected"
    assert "aten::add" in verdicts["adds"]["summary"]
    for name in ("adds_allowed", "python"):
        assert verdicts[name]["status"] == "infrastructure_error"
        assert "CUPTI was not found" in verdicts[name]["summary"]


def test_without_a_gpu_nothing_is_traced_live() -> None:
    verdicts = judged(WITHOUT_GPU, OUROBOROS_LIBCUDA="/nowhere/libcuda.so")
    assert verdicts["adds"]["status"] == "rejected"
    assert "aten::add" in verdicts["adds"]["summary"]
    for name in ("adds_allowed", "python"):
        assert verdicts[name]["status"] == "infrastructure_error"
    assert "there is none here" in verdicts["adds_allowed"]["summary"]
    assert verdicts["python"]["findings"][0]["kind"] == "no_gpu"
