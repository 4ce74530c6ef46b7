"""As-called times on a GPU. tests/python/test_as_called.py has what needs none."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import ouroboros  # noqa: E402 - it needs PyTorch

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA GPU here"),
]

TRITON = """
import torch, triton, triton.language as tl

@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * columns + at, powers / tl.sum(powers, 0), mask=at < columns)

def run(x):
    out = torch.empty_like(x)
    if x.numel():
        softmax[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out
"""

EAGER = """
import torch

def run(x):
    return torch.softmax(x, -1)
"""

# A clock that stands nearly still in the candidate, which then looks quick.
LIAR = (
    """
import time

honest, calls = time.perf_counter_ns, [0]

def slow_clock():
    calls[0] += 1
    return 1000 * calls[0]

time.perf_counter_ns = slow_clock
from ouroboros.trace import as_called as measuring
measuring._clock = slow_clock
"""
    + TRITON
)


def judged(source: str, language: str, **options: object) -> ouroboros.Verdict:
    verdict = ouroboros.verify(
        source,
        lambda x: torch.softmax(x, -1),
        inputs={"x": "rows cols"},
        dtypes=["float32"],
        timed=[{"rows": 64, "cols": 1000}, {"rows": 2048, "cols": 1024}],
        library_kernels="report",
        language=language,
        mode="screen",
        as_called=True,
        **options,
    )
    print(verdict.explain())
    for cell in verdict.timing.cells:
        print(cell.axes, cell.latency_us, cell.as_called_us)
        for one in cell.baselines:
            print("  ", one.name, one.status, one.as_called_us, one.as_called_speedup)
    print([one for one in verdict.findings if one.kind.startswith("as_called")])
    return verdict


@pytest.mark.parametrize(("source", "language"), [(TRITON, "triton"), (EAGER, "python")])
def test_what_a_caller_pays_stands_beside_the_device_s_time(source: str, language: str) -> None:
    verdict = judged(source, language, baselines=("eager", "compile"))
    assert verdict.status is ouroboros.Status.ok, verdict.summary
    notes = {one.kind: one for one in verdict.findings if one.kind.startswith("as_called")}
    assert set(notes) == {"as_called"}, notes
    assert notes["as_called"].severity == "note"
    for cell in verdict.timing.cells:
        # Launching from Python takes microseconds, and nothing here takes milliseconds.
        assert cell.as_called_us is not None
        assert 1 < cell.as_called_us.low <= cell.as_called_us.high < 2000
        assert [one.name for one in cell.baselines] == ["eager", "compile"]
        for one in cell.baselines:
            assert one.as_called_us is not None and one.as_called_speedup is not None
            ratio = one.as_called_us.estimate / cell.as_called_us.estimate
            assert one.as_called_speedup.estimate == pytest.approx(ratio, rel=0.3)
        if language == "python":  # It is what eager mode does.
            assert 0.7 < cell.baselines[0].as_called_speedup.estimate < 1.4


def test_a_clock_that_lies_forges_the_claim_and_nothing_else() -> None:
    verdict = judged(LIAR, "triton", baselines=("eager",))
    assert verdict.status is ouroboros.Status.ok, verdict.summary
    honest = judged(TRITON, "triton", baselines=("eager",))
    for lying, true in zip(verdict.timing.cells, honest.timing.cells, strict=True):
        assert lying.latency_us.estimate == pytest.approx(true.latency_us.estimate, rel=0.3)
        speedup = true.baselines[0].speedup.estimate
        assert lying.baselines[0].speedup.estimate == pytest.approx(speedup, rel=0.3)


def test_indices_are_valid() -> None:
    def chosen(x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        return x.gather(-1, at.unsqueeze(-1)).squeeze(-1)

    verdict = ouroboros.verify(
        "def run(x, at): return x.gather(-1, at.unsqueeze(-1)).squeeze(-1)",
        chosen,
        inputs={
            "x": "rows cols",
            "at": ouroboros.Input("at", ["rows"], "int64", values="index", index_axis="cols"),
        },
        dtypes=["float32"],
        timed=[{"rows": 1024, "cols": 1000}],
        library_kernels="report",
        language="python",
        mode="screen",
        as_called=True,
    )
    assert verdict.status is ouroboros.Status.ok, verdict.summary
    assert verdict.timing.cells[0].as_called_us is not None, verdict.findings
