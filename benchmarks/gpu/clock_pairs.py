"""Pairs of kernels whose ratio is known: chains of multiply-adds of different lengths."""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import tempfile
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
PAGES = 16
"""So many of them are used in turn: some are slower than others."""
RATIOS = (1.01, 1.02, 1.05, 1.2, 2.0)
LENGTHS_US = (20.0, 200.0)
"""How long the shorter chain of a pair takes."""
SHORT_RATIOS = (1.05, 2.0)
SHORT_US = (4.0, 7.0, 14.0)
"""Of pairs whose shorter chain is measured in rows of calls, and of some that just are not."""
STEPS = 12
"""From each of these to twice as much, where other lengths help to tell how long the two take."""


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
        self._xs = torch.rand(PAGES, PAGE_ELEMENTS, device="cuda")[:, :ELEMENTS]
        self._outs = torch.zeros(PAGES, PAGE_ELEMENTS, device="cuda")[:, :ELEMENTS]
        self._spans = torch.zeros(PAGES, BLOCKS, 2, dtype=torch.int64, device="cuda")
        self._cold = torch.ones(64 << 20, dtype=torch.int32, device="cuda")
        self._tracer = make_tracer(ouroboros.Limits())
        self._target = cuda_devices()[0][0]["target"]

    def call(self, iterations: int, page: int = 0) -> Callable[[], None]:
        """Returns a callable that launches a chain, as a benchmark in Python would time it."""
        x, out, spans = self._xs[page], self._outs[page], self._spans[page]

        def launch() -> None:
            self._module.spin[(BLOCKS,)](
                x, out, spans, iterations, 1.0, 0.0, block=128, num_warps=4
            )

        return launch

    def _calls(self, iterations: int) -> list[Callable[[], None]]:
        return [self.call(iterations, page) for page in range(PAGES)]

    def _ran_us(self, pages: slice) -> float:
        """Returns how long the last chains on these pages ran: by call."""
        spans = self._spans[pages]
        ran = spans[:, :, 1].amax(1) - spans[:, :, 0].amin(1)
        return ran.double().mean().item() * 1e-3

    def plan(self, iterations: int, name: str) -> Baseline:
        """Returns a chain as a launch plan, traced without the GPU."""
        data = self._traced(iterations, ["out"])
        return Baseline(name, plan=lambda signature: data)

    def _traced(self, iterations: int, outputs: list[str]) -> bytes:
        source = PATH.read_text().replace("ITERATIONS = 1000", f"ITERATIONS = {iterations}")
        source = source.replace("return out", f"return {', '.join(outputs)}")
        (result,) = self._tracer.trace(
            source.encode(),
            target=self._target,
            signatures=[[("x", "float32", [ELEMENTS])]],
            outputs=outputs,
        )
        if result["refusal"]:
            raise RuntimeError(f"the chain cannot be traced: {result['refusal']}")
        plan: bytes = result["variants"][0]
        return plan

    def raced(self, program: Path, lengths: Sequence[int], rounds: int) -> dict[str, Any]:
        """Returns what own_times.cpp, built as `program`, finds of chains that race."""
        if not program.exists():
            raise RuntimeError(f"there is no {program}: build benchmarks/gpu/own_times.cpp")
        helpers = Path(ouroboros.__file__).parent / "libexec" / "ouroboros"
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for iterations in lengths:
                paths.append(Path(folder) / f"{iterations}.plan")
                paths[-1].write_bytes(self._traced(iterations, ["out", "spans"]))
            done = subprocess.run(
                [program, str(rounds), *paths],
                env={"OUROBOROS_LIBEXEC": str(helpers), **os.environ},
                capture_output=True,
                text=True,
                check=False,
            )
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-2000:])
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def spans_us(self, lengths: Sequence[int], rounds: int = 150) -> list[float]:
        """Returns how long chains run, by what their blocks see pass on the device's clock.

        From the first block's begin to the last one's end, on a cold cache, without the launch. The
        lengths take turns, so that a clock that rises or falls does so for all of them, and so do
        pages, some of which are slower than others.
        """
        chains = [self._calls(iterations) for iterations in lengths]
        found: list[list[float]] = [[] for _ in lengths]
        for number in range(rounds):
            page = number % PAGES
            for calls, spans in zip(chains, found, strict=True):
                self._cold.sum()
                calls[page]()
                spans.append(self._ran_us(slice(page, page + 1)))
        return [trimmed(spans) for spans in found]

    def in_a_stream(self, lengths: Sequence[int], rounds: int = 60) -> list[InStream]:
        """Returns how long chains take that a stream runs one after the other.

        The time of sixteen less that of four, by call, each on pages of its own that are not in the
        cache, behind something that lasts until the host has submitted them all.
        """
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

        def took_us(calls: Sequence[Callable[[], None]]) -> float:
            self._cold.sum()
            torch.cuda._sleep(2_000_000)
            begin.record()
            for call in calls:
                call()
            end.record()
            end.synchronize()
            return begin.elapsed_time(end) * 1e3

        fewer, more = 4, PAGES
        chains = [self._calls(iterations) for iterations in lengths]
        found = [InStream([], []) for _ in lengths]
        for _ in range(rounds):
            for calls, times in zip(chains, found, strict=True):
                short = took_us(calls[:fewer])
                times.call_us.append((took_us(calls) - short) / (more - fewer))
                times.span_us.append(self._ran_us(slice(fewer, more)))
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
