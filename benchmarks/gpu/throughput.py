"""Rates and costs: tracing, contexts, a sweep, hygiene."""

from __future__ import annotations

import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ouroboros
import torch
from kept_rows import KeptRows
from ouroboros._ouroboros import PlanRunner, cuda_devices
from ouroboros.trace.command import make_tracer

ROOT = Path(__file__).resolve().parents[2]
ROW_KERNEL = ROOT / "tests/gpu/kernels/rmsnorm__row.py"
TRACES = 200
CONTEXTS = 4
CLEANINGS = 9
SWEEPS = 5


def measure(_: int, __: KeptRows) -> dict[str, Any]:
    """Measures on an otherwise idle machine."""
    traces = dry_traces()
    contexts = context_starts(traces.pop("plan"))
    sweeps = sweep_costs()
    return {
        "summary": {
            "dry_traces_per_s": round(traces["per_s"], 1),
            "contexts_per_s": round(contexts["per_s"], 2),
            "sweep_gpu_ms": round(sweeps["median_ms_per_30_cases"], 1),
            "reuse_hygiene_ms": round(contexts["hygiene_ms"], 2),
        },
        "failed": False,
        "dry_traces": traces,
        "contexts": contexts,
        "sweep": sweeps,
    }


def dry_traces() -> dict[str, Any]:
    """Distinct row kernels, each compiled: no cache can help."""
    (device, *_), _ = cuda_devices()
    tracer = make_tracer(ouroboros.Limits())
    assert tracer is not None
    source = ROW_KERNEL.read_text(encoding="utf-8")
    signature = [("x", "float16", [1024, 4096]), ("weight", "float16", [4096])]

    def trace(number: int) -> dict[str, Any]:
        (result,) = tracer.trace(
            source.replace("1e-6", f"1e-6 + {number}e-12").encode(),
            target=device["target"],
            signatures=[signature],
            outputs=["out"],
        )
        if result["refusal"] is not None:
            raise RuntimeError(result["refusal"]["message"])
        return result

    with ThreadPoolExecutor(32) as pool:
        plan = trace(0)["variants"][0]
        started = time.monotonic()
        results = list(pool.map(trace, range(1, TRACES + 1)))
        wall = time.monotonic() - started
    return {
        "per_s": TRACES / wall,
        "traces": TRACES,
        "median_ms": statistics.median(one["seconds"] for one in results) * 1e3,
        "plan": plan,
    }


def context_starts(plan: bytes) -> dict[str, Any]:
    """Executors started one after another, and one cleaned between sessions."""
    inputs = [torch.randn(1024, 4096).half(), torch.randn(4096).half()]
    started = time.monotonic()
    for _ in range(CONTEXTS):
        runner = PlanRunner()
        runner.run(plan, inputs)
    wall = time.monotonic() - started
    cleanings = []
    for _ in range(CLEANINGS):
        runner.run(plan, inputs)
        cleanings.append(runner.hygiene_ms)
    return {
        "per_s": CONTEXTS / wall,
        "contexts": CONTEXTS,
        "hygiene_ms": statistics.median(cleanings),
        "all_hygiene_ms": cleanings,
    }


def sweep_costs() -> dict[str, Any]:
    """The sweep of a row kernel over all its cases: what the GPU is kept from other work for.

    From the executor's own stopwatch around each replay: memory, copies, poison, launches, checks.
    The kernels' own time is taken off. Each case is replayed twice.
    """
    referee = ouroboros.Referee(until="sweep")
    held, kernels, stages, cases = [], [], [], 0
    for _ in range(SWEEPS):
        verdict = referee.judge("rmsnorm", ROW_KERNEL)
        if verdict.status is not ouroboros.Status.ok:
            raise RuntimeError(verdict.summary)
        cases = verdict.correctness.cases_total
        seconds = verdict.provenance.stage_s
        kernels.append(seconds["sweep_kernels"] * 1e3)
        held.append((seconds["sweep_replay"] - seconds["sweep_kernels"]) * 1e3)
        stages.append(seconds["sweep"] * 1e3)
    return {
        "median_ms_per_30_cases": statistics.median(held) * 30 / cases,
        "held_ms": held,
        "kernels_ms": kernels,
        "stage_ms": stages,
        "cases": cases,
    }
