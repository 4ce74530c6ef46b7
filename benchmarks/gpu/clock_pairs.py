"""Pairs of kernels whose ratio is known: chains of multiply-adds of different lengths."""

from __future__ import annotations

import importlib.util
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ouroboros
import torch
from ouroboros import Axis, Baseline
from ouroboros._ouroboros import cuda_devices
from ouroboros.trace.command import make_tracer

PATH = Path(__file__).parent / "kernels" / "spin.py"
BLOCKS = 132
"""As many as an H200 has multiprocessors: one wave, so that time is proportional to the chain."""
ELEMENTS = 128 * BLOCKS
PAGE_ELEMENTS = (2 << 20) // 4
"""Of one of a GPU's pages, which is what memory is mapped in."""
RATIOS = (1.01, 1.02, 1.05, 1.2, 2.0)
LENGTHS_US = (20.0, 200.0)
"""How long the shorter chain of a pair takes."""
SHORT_RATIOS = (1.05, 2.0)
SHORT_US = (4.0, 7.0, 14.0)
"""Of pairs whose shorter chain is measured in rows of calls, and of some that just are not."""


@ouroboros.problem(
    inputs={"x": ("n",)}, axes=[Axis("n", 1, 1 << 20)], timed=[{"n": ELEMENTS}], name="spin"
)
def copy(x: torch.Tensor) -> torch.Tensor:
    """What all chains compute: a copy."""
    return x.clone()


def rounded(iterations: float) -> int:
    """Returns a length near it for which Triton compiles the same code: a multiple of 16."""
    return max(1, round(iterations / 16)) * 16


class InStream(NamedTuple):
    """Times by call of a chain in a stream of such, each as often as it was measured."""

    call_us: list[float]
    """The gap to the next one included."""
    span_us: list[float]
    """What the chain itself sees pass, from its first block's begin to its last one's end."""


def trimmed(values: Sequence[float]) -> float:
    """Returns the mean without a tenth at each end."""
    tenth = len(values) // 10
    return statistics.fmean(sorted(values)[tenth : len(values) - tenth])


class Chains:
    """Chains of any length, as launch plans and as calls."""

    def __init__(self) -> None:
        spec = importlib.util.spec_from_file_location("spin", PATH)
        assert spec is not None and spec.loader is not None
        self._module: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self._module)
        self._x = torch.rand(ELEMENTS, device="cuda")
        self._out = torch.empty_like(self._x)
        self._spans = torch.zeros(BLOCKS, 2, dtype=torch.int64, device="cuda")
        self._tracer = make_tracer(ouroboros.Limits())
        self._target = cuda_devices()[0][0]["target"]

    def call(self, iterations: int) -> Callable[[], None]:
        """Returns a callable that launches a chain, as a benchmark in Python would time it."""

        def launch() -> None:
            self._module.spin[(BLOCKS,)](
                self._x, self._out, self._spans, iterations, 1.0, 0.0, block=128, num_warps=4
            )

        return launch

    def plan(self, iterations: int, name: str) -> Baseline:
        """Returns a chain as a launch plan, traced without the GPU."""
        source = PATH.read_text().replace("ITERATIONS = 1000", f"ITERATIONS = {iterations}")
        (result,) = self._tracer.trace(
            source.encode(),
            target=self._target,
            signatures=[[("x", "float32", [ELEMENTS])]],
            outputs=["out"],
        )
        if result["refusal"]:
            raise RuntimeError(f"the chain cannot be traced: {result['refusal']}")
        data = result["variants"][0]
        return Baseline(name, plan=lambda signature: data)

    def spans_us(self, lengths: Sequence[int], rounds: int = 150) -> list[float]:
        """Returns how long chains run, by what their blocks see pass on the device's clock.

        From the first block's begin to the last one's end, on a cold cache, without the launch. The
        lengths take turns, so that a clock that rises or falls does so for all of them.
        """
        cold = torch.ones(64 << 20, dtype=torch.int32, device="cuda")
        launches = [self.call(iterations) for iterations in lengths]
        found: list[list[float]] = [[] for _ in lengths]
        for _ in range(rounds):
            for launch, spans in zip(launches, found, strict=True):
                cold.sum()
                launch()
                span = self._spans[:, 1].max() - self._spans[:, 0].min()
                spans.append(span.item() * 1e-3)
        return [trimmed(spans) for spans in found]

    def in_a_stream(self, lengths: Sequence[int], rounds: int = 60) -> list[InStream]:
        """Returns how long chains take that a stream runs one after the other.

        The time of sixteen less that of four, by call, each on pages of its own that are not in the
        cache, behind something that lasts until the host has submitted them all.
        """
        fewer, more = 4, 16
        xs = torch.rand(more, PAGE_ELEMENTS, device="cuda")[:, :ELEMENTS]
        outs = torch.zeros(more, PAGE_ELEMENTS, device="cuda")[:, :ELEMENTS]
        stamps = torch.zeros(more, BLOCKS, 2, dtype=torch.int64, device="cuda")
        cold = torch.ones(64 << 20, dtype=torch.int32, device="cuda")
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

        def took_us(iterations: int, calls: int) -> float:
            cold.sum()
            torch.cuda._sleep(2_000_000)
            begin.record()
            for x, out, stamp in zip(xs[:calls], outs[:calls], stamps[:calls], strict=True):
                self._module.spin[(BLOCKS,)](
                    x, out, stamp, iterations, 1.0, 0.0, block=128, num_warps=4
                )
            end.record()
            end.synchronize()
            return begin.elapsed_time(end) * 1e3

        found = [InStream([], []) for _ in lengths]
        for _ in range(rounds):
            for iterations, times in zip(lengths, found, strict=True):
                short = took_us(iterations, fewer)
                times.call_us.append((took_us(iterations, more) - short) / (more - fewer))
                span = stamps[fewer:, :, 1].amax(1) - stamps[fewer:, :, 0].amin(1)
                times.span_us.append(span.double().mean().item() * 1e-3)
        return found

    def iterations(self, microseconds: float) -> int:
        """Returns how many multiply-adds take about so long: from a line through two lengths."""
        short, long = 4_000, 40_000
        each = (self._time(long) - self._time(short)) / (long - short)
        return rounded(microseconds / each)

    def _time(self, iterations: int) -> float:
        launch = self.call(iterations)
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        for _ in range(50):
            launch()
        times = []
        for _ in range(50):
            torch.cuda._sleep(100_000)
            begin.record()
            launch()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) * 1e3)
        return statistics.median(times)


def deviations(found: Sequence[float], truth: float) -> dict[str, float]:
    """Returns how far ratios that were found are from the true one, as shares of it."""
    if not found:
        return {}
    errors = [abs(one / truth - 1) for one in found]
    return {
        "mean_error": statistics.fmean(errors),
        "median_error": statistics.median(errors),
        "bias": statistics.fmean(found) / truth - 1,
        "spread": statistics.pstdev(found) / truth,
    }
