"""Times pairs of known ratio with this library and with others, in a process of its own.

    python clock_rivals.py PAIRS.json SEED

Prints one JSON object: by pair and tool, the ratio that was found and the wall time that it took.
What comes before a measurement (contexts, compilers, modules) is not counted for anybody: each
tool measures one pair first that is not recorded. Of this library's comparison `clock_ms` is the
part that the others have too: warming up, the cost of a launch, and all samples, with what is done
to each on the device; `wall_ms` is all of it, with fresh inputs and checks of outputs.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import ouroboros
import torch
from clock_pairs import Chains, copy

Tool = Callable[[int, int], float]
"""Returns the ratio of the second chain's time to the first one's."""


def do_bench(chains: Chains) -> Tool:
    """Returns `triton.testing.do_bench` with its defaults."""
    from triton.testing import do_bench as bench

    return lambda a, b: bench(chains.call(b)) / bench(chains.call(a))


def inductor(chains: Chains) -> Tool:
    """Returns the benchmarker by which Inductor tunes, with its defaults."""
    from torch._inductor.runtime.benchmarking import benchmarker

    return lambda a, b: (
        benchmarker.benchmark_gpu(chains.call(b)) / benchmarker.benchmark_gpu(chains.call(a))
    )


def torch_benchmark(chains: Chains) -> Tool:
    """Returns `torch.utils.benchmark` with its defaults."""
    from torch.utils.benchmark import Timer

    def median(iterations: int) -> float:
        timer = Timer("launch()", globals={"launch": chains.call(iterations)})
        return float(timer.blocked_autorange().median)

    return lambda a, b: median(b) / median(a)


def events(chains: Chains) -> Tool:
    """Returns what a person writes: a cache flush and two events around each of 100 calls."""
    cache = torch.empty(256 << 20, dtype=torch.int8, device="cuda")

    def mean(iterations: int) -> float:
        launch = chains.call(iterations)
        begins, ends = (
            [torch.cuda.Event(enable_timing=True) for _ in range(100)] for _ in range(2)
        )
        for _ in range(10):
            launch()
        for begin, end in zip(begins, ends, strict=True):
            cache.zero_()
            begin.record()
            launch()
            end.record()
        torch.cuda.synchronize()
        times = [begin.elapsed_time(end) for begin, end in zip(begins, ends, strict=True)]
        return statistics.fmean(times)

    return lambda a, b: mean(b) / mean(a)


class Ours:
    """This library's comparison, checks of the timed outputs included."""

    def __init__(self, chains: Chains, lengths: Sequence[int]) -> None:
        self._referee = ouroboros.Referee(mode="decide")
        self._plans = {length: chains.plan(length, str(length)) for length in lengths}
        self.clock_ms = 0.0

    def __call__(self, a: int, b: int) -> float:
        verdict = self._referee.compare(copy, self._plans[a], self._plans[b])
        if verdict.status.value != "ok":
            raise RuntimeError(f"no comparison: {verdict.findings}")
        (cell,) = verdict.timing.cells
        self.clock_ms = cell.gpu_ms
        return cell.baselines[0].speedup.estimate


def main() -> None:
    pairs = json.loads(Path(sys.argv[1]).read_text())
    chains = Chains()
    ours = Ours(chains, [pair[side] for pair in pairs for side in ("a", "b")])
    tools: dict[str, Tool] = {
        "ours": ours,
        "do_bench": do_bench(chains),
        "inductor": inductor(chains),
        "torch_benchmark": torch_benchmark(chains),
        "events": events(chains),
    }
    order = random.Random(int(sys.argv[2]))
    found: list[dict[str, object]] = []
    for tool in tools.values():
        tool(pairs[0]["a"], pairs[0]["b"])
    for pair in order.sample(pairs, len(pairs)):
        for name in order.sample(list(tools), len(tools)):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            ratio = tools[name](pair["a"], pair["b"])
            wall_ms = (time.perf_counter() - begin) * 1e3
            found.append(
                {
                    "pair": pair["name"],
                    "tool": name,
                    "ratio": ratio,
                    "wall_ms": wall_ms,
                    "clock_ms": ours.clock_ms if name == "ours" else wall_ms,
                }
            )
    print(json.dumps(found))


if __name__ == "__main__":
    main()
