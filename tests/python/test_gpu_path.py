"""The whole GPU path without a GPU: real traces, plans and executor processes on a fake driver.

The fake driver runs host functions in place of kernels, by name: "scale" doubles its input,
"skip_tail" leaves the last element out, and so on (tests/fake_cuda).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import ouroboros
import pytest

pytest.importorskip("triton", reason="Triton is not installed")

ROOT = Path(__file__).resolve().parents[2]
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

JUDGE = """
import json, sys
import ouroboros
from ouroboros.trace.command import make_tracer

source, gate = sys.argv[1], sys.argv[2] == "gate"
baseline = sys.stdin.read()
tracer = make_tracer(ouroboros.Limits())

def plan(signature):
    inputs = [(b["name"], b["dtype"], b["shape"]) for b in signature if b["role"] == "input"]
    (result,) = tracer.trace(
        baseline.encode(), target="sm_90", signatures=[inputs], outputs=["out"]
    )
    return result["variants"][0]

verdict = ouroboros.verify(
    source,
    lambda x: x * 2,
    inputs={"x": "rows cols"},
    dtypes=["float32"],
    timed=[{"rows": 64, "cols": 100}],
    baselines=[ouroboros.Baseline("eager", plan=plan)],
    gate=gate,
    timing={"looks": [16], "budget_seconds": 100.0},
    limits={"replay_seconds": 2.0},
)
print(verdict.to_json())
"""


def judge(source: str, gate: bool = False, baseline: str = KERNEL) -> dict:
    """Judges in a process of its own, whose driver is the fake one."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(JUDGE), source, "gate" if gate else "time"],
        input=baseline,
        env={**os.environ, "OUROBOROS_LIBCUDA": str(FAKES[0])},
        capture_output=True,
        text=True,
        timeout=400,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    verdict: dict = json.loads(done.stdout)
    return verdict


def renamed(kernel: str) -> str:
    """The same candidate with another kernel of the fake driver's."""
    return KERNEL.replace("def scale", f"def {kernel}").replace("scale[", f"{kernel}[")


def test_an_honest_kernel_is_swept_timed_and_gated() -> None:
    verdict = judge(KERNEL, gate=True)
    assert verdict["status"] == "ok", verdict["summary"]
    assert verdict["language"] == "triton"
    assert verdict["compilation"]["target"] == "sm_90"
    (kernel,) = verdict["compilation"]["kernels"]
    assert (kernel["function"], kernel["origin"], kernel["launches"]) == ("scale", "candidate", 1)
    assert kernel["registers"] > 0
    assert kernel["device_time_share"] == pytest.approx(1)
    correctness = verdict["correctness"]
    assert correctness["cases_passed"] == correctness["cases_total"] > 8
    assert verdict["isolation"]["sealed"]
    assert verdict["provenance"]["device"] == "Fake GPU"
    assert verdict["timing"]["clock"] == "device_events"
    (cell,) = verdict["timing"]["cells"]
    (eager,) = cell["baselines"]
    assert eager["status"] == "timed", eager["reason"]
    assert cell["samples_total"] >= 32
    assert cell["samples_checked"] > 0
    assert verdict["gate"]["ran"] and verdict["gate"]["baseline"] == "eager"


@pytest.mark.parametrize(
    ("kernel", "status", "finding"),
    [
        ("skip_tail", "incorrect", "unwritten_output"),
        ("unstable", "incorrect", "nondeterministic"),
        ("trap", "runtime_error", "fault"),
        ("write_input", "runtime_error", "fault"),
        ("hang", "timeout", "timeout"),
    ],
)
def test_what_a_kernel_does_wrong_is_its_verdict(kernel: str, status: str, finding: str) -> None:
    verdict = judge(renamed(kernel))
    assert verdict["status"] == status, verdict["summary"]
    assert finding in [one["kind"] for one in verdict["findings"]]


def test_a_race_that_shows_beside_other_work_alone_is_found_and_that_is_said() -> None:
    verdict = judge(renamed("hasty"))
    assert verdict["status"] == "incorrect", verdict["summary"]
    (differs,) = [one for one in verdict["findings"] if one["kind"] == "nondeterministic"]
    assert "and other work on some multiprocessors" in differs["evidence"]


def test_right_results_that_are_not_the_same_each_time_are_noted() -> None:
    verdict = judge(renamed("wobble"))
    assert verdict["status"] == "ok", verdict["summary"]
    assert ("nondeterministic", "note") in [
        (one["kind"], one["severity"]) for one in verdict["findings"]
    ]


@pytest.mark.parametrize(
    ("kernel", "reason"), [("skip_tail", "does not replay to what"), ("trap", "cannot be replayed")]
)
def test_a_broken_baseline_says_nothing_against_the_candidate(kernel: str, reason: str) -> None:
    verdict = judge(KERNEL, baseline=renamed(kernel))
    assert verdict["status"] == "ok", verdict["summary"]
    (cell,) = verdict["timing"]["cells"]
    (eager,) = cell["baselines"]
    assert eager["status"] == "unavailable"
    assert reason in eager["reason"]
    # Without eager mode's answer the reference's stands in, and the oracle looks as before.
    assert cell["samples_total"] >= 32
    assert cell["samples_checked"] > 0


def test_a_computation_on_the_host_is_rejected_by_its_name() -> None:
    verdict = judge("import torch, triton\n\ndef run(x):\n    return x + x\n")
    assert verdict["status"] == "rejected"
    assert "aten::add" in verdict["summary"]


def test_an_output_of_another_dtype_is_incorrect() -> None:
    source = KERNEL.replace("torch.empty_like(x)", "torch.empty_like(x, dtype=torch.float16)")
    verdict = judge(source)
    assert verdict["status"] == "incorrect", verdict["summary"]
    assert verdict["findings"][0]["kind"] == "output_dtype"


def test_without_a_gpu_cuda_is_compiled_and_not_judged() -> None:
    kernel = ROOT / "tests" / "gpu" / "kernels" / "softmax__block.cu"
    verdict = ouroboros.verify(kernel, "softmax", target="sm_90", until="sweep")
    assert verdict.status is ouroboros.Status.infrastructure_error
    assert verdict.findings[0].kind == "no_gpu"
    assert verdict.compilation.succeeded and verdict.compilation.kernels[0].registers > 0
    assert not verdict.correctness.ran
    assert verdict.reward() is None


def test_a_case_that_cannot_be_interpreted_did_not_fail() -> None:
    source = (ROOT / "tests" / "gpu" / "kernels" / "swiglu__row.py").read_text(encoding="utf-8")
    assert source.count("tl.sigmoid(gate)") == 1
    sigmoid = (
        "tl.inline_asm_elementwise('tanh.approx.f32 $0, $1;', '=f,f', [gate / 2], tl.float32, "
        "True, 1) / 2 + 0.5"
    )
    verdict = ouroboros.verify(
        source.replace("tl.sigmoid(gate)", sigmoid), "swiglu", target="sm_90", dtypes=["float32"]
    )
    assert verdict.status is ouroboros.Status.infrastructure_error
    assert "inline_asm" in verdict.findings[0].evidence
    # Without elements nothing is launched, and that is right.
    empty = [case for case in verdict.correctness.cases if 0 in case.axes.values()]
    assert {case.status for case in empty} <= {"passed"}
    judged = [case.status for case in verdict.correctness.cases if case not in empty]
    assert set(judged) == {"not_run"}


def test_without_a_gpu_triton_is_interpreted_and_says_so() -> None:
    kernel = ROOT / "tests" / "gpu" / "kernels" / "swiglu__row.py"
    verdict = ouroboros.verify(kernel, "swiglu", target="sm_90", dtypes=["float32"])
    assert verdict.status is ouroboros.Status.ok, verdict.summary
    assert (verdict.isolation.level, verdict.isolation.sealed) == ("interpreted", False)
    assert "not_timed" in [one.kind for one in verdict.findings]
    assert not verdict.timing.ran
    assert verdict.reward() is None
    assert verdict.reward(ouroboros.RewardPolicy(interpreted=True)) == 1.0


def test_the_interpreters_results_are_judged_as_a_gpus_are() -> None:
    # A GPU's atomics in float32 take numbers below the normal range for zero. Nobody may take more.
    doubled = "tl.load(x_ptr + offsets, mask=mask) * 2"
    for smallest, status in (("2**-126", "ok"), ("2**-40", "incorrect")):
        flushed = f"tl.where(tl.abs({doubled}) < {smallest}, 0.0, {doubled})"
        verdict = ouroboros.verify(
            KERNEL.replace(doubled, flushed),
            lambda x: x * 2,
            inputs={"x": "rows cols"},
            dtypes=["float32"],
            target="sm_90",
        )
        assert verdict.status.value == status, verdict.summary


def test_a_source_that_does_not_load_is_a_compile_error() -> None:
    verdict = judge(KERNEL + "\nraise ValueError('at import')\n")
    assert verdict["status"] in ("compile_error", "runtime_error"), verdict["summary"]
    assert "at import" in verdict["summary"] + verdict["compilation"]["log"]
