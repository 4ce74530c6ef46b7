"""What the referee adds to a verdict: its wall time without compiler and arithmetic."""

from __future__ import annotations

import statistics
import time
from typing import Any

import ouroboros
from ouroboros.selftest import packaged_folder

KERNEL = packaged_folder("kernels") / "softmax.cpp"
STAGES = ("compile", "draw_cases", "sweep", "time")


def clocked_s(verdict: ouroboros.Verdict) -> float:
    """Time of the calls that the race clocked: each block calls each arm twice."""
    total_us = 0.0
    for cell in verdict.timing.cells:
        timed = [one for one in cell.baselines if one.status == "timed"]
        blocks = max((one.blocks for one in timed), default=0)
        arms = cell.latency_us.estimate + sum(one.latency_us.estimate for one in timed)
        total_us += 2 * blocks * arms
    return total_us * 1e-6


def one_verdict(referee: ouroboros.Referee) -> dict[str, Any]:
    """Judges once and takes the wall time apart."""
    start = time.perf_counter()
    verdict = referee.judge("softmax", KERNEL)
    wall_s = time.perf_counter() - start
    assert verdict.status is ouroboros.Status.ok, verdict.explain()
    recorded = verdict.provenance.stage_s
    stages = {name: recorded[name] for name in STAGES if name in recorded}
    compiler_s = verdict.compilation.duration_ms * 1e-3
    # A part of the stage "time"; missing where that did not run.
    oracle_s = recorded.get("time_oracle", 0.0)
    clocked = clocked_s(verdict)
    subtracted = {
        "compiler": compiler_s,
        "arithmetic_of_cases": stages["draw_cases"],
        "arithmetic_of_timed_cells": oracle_s,
        "clocked_calls": clocked,
    }
    own = {"compile": stages["compile"] - compiler_s, "sweep": stages["sweep"]}
    if "time" in stages:
        own["time"] = stages["time"] - oracle_s - clocked
    own["outside_stages"] = wall_s - sum(stages.values())
    return {
        "wall_s": wall_s,
        "overhead_s": wall_s - sum(subtracted.values()),
        "subtracted_s": subtracted,
        "overhead_by_stage_s": own,
        "stage_s": dict(recorded),
        "cases": verdict.correctness.cases_total,
        "cells": [
            {
                "axes": cell.axes,
                "latency_us": cell.latency_us.estimate,
                "samples": cell.samples_total,
                "baselines": [
                    {
                        "name": one.name,
                        "status": one.status,
                        "decision": one.decision,
                        "blocks": one.blocks,
                        "latency_us": one.latency_us.estimate,
                        "speedup": one.speedup.estimate,
                    }
                    for one in cell.baselines
                ],
            }
            for cell in verdict.timing.cells
        ],
    }


def measure(until: ouroboros.referee.Stage, repeats: int) -> dict[str, Any]:
    """Judges the example softmax once to warm up, then `repeats` times."""
    referee = ouroboros.Referee(until=until)
    cold = one_verdict(referee)
    runs = [one_verdict(referee) for _ in range(repeats)]

    def median(key: str) -> dict[str, float]:
        return {name: statistics.median(run[key][name] for run in runs) for name in runs[0][key]}

    return {
        "until": until,
        "overhead_s": statistics.median(run["overhead_s"] for run in runs),
        "wall_s": statistics.median(run["wall_s"] for run in runs),
        "subtracted_s": median("subtracted_s"),
        "overhead_by_stage_s": median("overhead_by_stage_s"),
        "cold": cold,
        "runs": runs,
    }
