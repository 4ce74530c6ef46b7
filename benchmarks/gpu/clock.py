"""What the clock is worth, on this machine's GPU: see benchmarks/README.md.

    python benchmarks/gpu/clock.py --out benchmarks/results/h200 --commit HASH

Measures things against themselves, pairs of kernels of known ratio with this library and with
others, under background load and in fresh processes, and what a verdict's clock costs. Writes
clock.json to the folder of --out.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ouroboros
from clock_pairs import ELEMENTS, LENGTHS_US, RATIOS, Chains, copy, deviations, rounded
from evidence import provenance
from ouroboros.trace.plan_baselines import plan_baseline

HERE = Path(__file__).parent
ROWS = (16, 128, 1024, 8192, 32768)
"""Rows of 4096 float32: from 0.25 MB to 0.5 GB an operand."""
AA_SECONDS = 2.5
COVERAGE_RUNS = 200
RIVAL_PROCESSES = 10
LEFT_OUT = ("1.01 at 200 us", "1.05 at 200 us", "1.2 at 200 us")
"""Of the pairs that rivals time: at 200 us they are all alike, and each takes seconds."""
LOAD_RUNS = 12


def cell_of(problem: Any, rows: int) -> dict[str, int]:
    """Returns the cell of a shipped problem with so many rows of 4096 elements."""
    first = (problem.timed_gpu or problem.timed)[0]
    width = math.prod(size for axis, size in first.items() if axis != "rows")
    if "half" in first:
        return {**first, "rows": rows * 4096 // (2 * width)}
    return {**first, "rows": rows}


def timing_row(verdict: Any) -> dict[str, Any]:
    """Returns what a comparison of two plans found in its only cell."""
    row: dict[str, Any] = {"status": verdict.status.value, "wall_s": verdict.provenance.duration_s}
    if verdict.status.value != "ok" or not verdict.timing.cells[0].baselines:
        return {**row, "reason": [one.evidence for one in verdict.findings]}
    (cell,) = verdict.timing.cells
    (baseline,) = cell.baselines
    if baseline.status != "timed":
        return {**row, "reason": baseline.reason}
    return {
        **row,
        "axes": dict(cell.axes),
        "latency_us": cell.latency_us.estimate,
        "bracket_us": cell.bracket_us.estimate,
        "handover_us": cell.handover_us,
        "ratio": baseline.speedup.estimate,
        "interval": [baseline.speedup.low, baseline.speedup.high],
        "ratio_raw": baseline.speedup_raw.estimate,
        "decision": baseline.decision,
        "blocks": baseline.blocks,
        "blocks_void": cell.blocks_void,
        "estimator": cell.estimator,
        "submission": cell.submission,
        "placement_sd": cell.placement_sd,
        "clock_mhz": cell.clock_mhz,
        "memory": [baseline.memory.low, baseline.memory.estimate, baseline.memory.high],
        "ceiling_fraction": cell.ceiling_fraction,
        "gpu_ms": cell.gpu_ms,
        "flags": list(cell.flags),
    }


def percentile(values: Sequence[float], share: float) -> float:
    """Returns the smallest value that so large a share of them does not exceed."""
    return sorted(values)[math.ceil(share * len(values)) - 1] if values else 0.0


def same_against_same(shared: Mapping[str, Any]) -> dict[str, Any]:
    """Times what PyTorch does against a second copy of itself."""
    referee = ouroboros.Referee(
        mode="report", dtypes=["float32"], timing={"budget_seconds": AA_SECONDS}
    )
    rows = []
    for name in ouroboros.problems.names()[:: shared["share"]]:
        problem = ouroboros.problems.load(name)
        for size in ROWS:
            kind = "eager" if size in (16, 8192) else "compile"
            cell = cell_of(problem, size)
            plan = plan_baseline(problem, kind)
            try:
                verdict = referee.compare(problem, plan, plan, cells=[cell])
                row = timing_row(verdict)
            except ouroboros.OuroborosError as error:
                row = {"status": "error", "reason": str(error)}
            rows.append({"problem": name, "kind": kind, **row})
    timed = [row for row in rows if "ratio" in row]
    long = [abs(row["ratio"] - 1) for row in timed if row["latency_us"] >= 20]
    short = [abs(row["ratio"] - 1) for row in timed if row["latency_us"] < 20]
    around5 = [abs(row["ratio"] - 1) for row in timed if row["latency_us"] < 8]
    wrong = [row for row in timed if row["decision"] in ("faster", "slower")]
    return {
        "summary": {
            "aa_cells": len(timed),
            "aa_p95_from_20us": percentile(long, 0.95),
            "aa_p95_at_5us": percentile(around5, 0.95),
            "aa_p95_below_20us": percentile(short, 0.95),
            "aa_false_decisions": len(wrong) / max(len(timed), 1),
        },
        "cells": rows,
    }


def pairs_of(chains: Chains) -> list[dict[str, Any]]:
    """Returns pairs of chains: their lengths, and the true ratio of the times that they run.

    Lengths alone are not it: before its chain every kernel loads from memory, for about a
    microsecond. So kernels' own view of the device's clock says how long they run. It is a straight
    line over their lengths: the truth comes from that line, which has less noise than two points.
    """
    pairs = []
    for length_us in LENGTHS_US:
        short = chains.iterations(length_us)
        lengths = [short, *(rounded(short * ratio) for ratio in RATIOS)]
        spans = chains.spans_us(lengths)
        each_us, fixed_us = statistics.linear_regression(lengths, spans)
        for ratio, long in zip(RATIOS, lengths[1:], strict=True):
            pairs.append(
                {
                    "name": f"{ratio} at {length_us:g} us",
                    "a": short,
                    "b": long,
                    "a_us": spans[0],
                    "b_us": spans[lengths.index(long)],
                    "fixed_us": fixed_us,
                    "iterations_ratio": long / short,
                    "truth": (fixed_us + each_us * long) / (fixed_us + each_us * short),
                }
            )
    return pairs


def known_ratios(shared: Mapping[str, Any]) -> dict[str, Any]:
    """Times pairs of known ratio again and again: how often the interval holds the truth."""
    chains, pairs = shared["chains"], shared["pairs"]
    runs = []
    for mode in ("report", "decide"):
        referee = ouroboros.Referee(mode=mode)
        wanted = COVERAGE_RUNS if mode == "report" else COVERAGE_RUNS // 2
        for number in range(wanted // shared["share"]):
            pair = pairs[number % len(pairs)]
            row = timing_row(
                referee.compare(copy, chains.plan(pair["a"], "A"), chains.plan(pair["b"], "B"))
            )
            runs.append({"pair": pair["name"], "truth": pair["truth"], "mode": mode, **row})
    timed = [run for run in runs if "ratio" in run]
    held = [
        run["interval"][0] <= run["truth"] <= run["interval"][1]
        for run in timed
        if run["mode"] == "report"
    ]
    small = [
        run
        for run in timed
        if run["mode"] == "decide" and run["pair"] == f"1.02 at {LENGTHS_US[0]:g} us"
    ]
    table = {
        f"{mode} {pair['name']}": {
            "truth": pair["truth"],
            **deviations(
                [r["ratio"] for r in timed if r["pair"] == pair["name"] and r["mode"] == mode],
                pair["truth"],
            ),
        }
        for mode in ("report", "decide")
        for pair in pairs
    }
    return {
        "summary": {
            "known_ratio_coverage": sum(held) / max(len(held), 1),
            "known_ratio_runs": len(held),
            "decide_2pct_at_20us_ms": sum(run["gpu_ms"] for run in small) / max(len(small), 1),
            "decide_2pct_at_20us_right": sum(run["decision"] == "faster" for run in small)
            / max(len(small), 1),
        },
        "table": table,
        "runs": runs,
    }


def rivals(shared: Mapping[str, Any]) -> dict[str, Any]:
    """Times the same pairs with other tools, in fresh processes."""
    pairs = shared["pairs"]
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.json"
        pairs = [pair for pair in pairs if pair["name"] not in LEFT_OUT]
        path.write_text(json.dumps(pairs))
        for number in range(max(1, RIVAL_PROCESSES // shared["share"])):
            done = subprocess.run(
                [sys.executable, HERE / "clock_rivals.py", path, str(number)],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode != 0:
                raise RuntimeError(done.stderr[-2000:])
            found += [{"process": number, **one} for one in json.loads(done.stdout)]
    table: dict[str, Any] = {}
    for pair in pairs:
        for tool in sorted({one["tool"] for one in found}):
            mine = [o for o in found if o["tool"] == tool and o["pair"] == pair["name"]]
            table.setdefault(pair["name"], {})[tool] = {
                **deviations([one["ratio"] for one in mine], pair["truth"]),
                "wall_ms": statistics.median(one["wall_ms"] for one in mine),
                "clock_ms": statistics.median(one["clock_ms"] for one in mine),
            }
    summary = {}
    for tool in sorted({one["tool"] for one in found} - {"ours"}):
        errors = [row[tool]["mean_error"] / row["ours"]["mean_error"] for row in table.values()]
        walls = [row[tool]["wall_ms"] / row["ours"]["clock_ms"] for row in table.values()]
        whole = [row[tool]["wall_ms"] / row["ours"]["wall_ms"] for row in table.values()]
        summary[f"{tool}_error_ratio"] = statistics.geometric_mean(errors)
        summary[f"{tool}_wall_ratio"] = statistics.geometric_mean(walls)
        summary[f"{tool}_whole_comparison_wall_ratio"] = statistics.geometric_mean(whole)
        summary[f"{tool}_rows_better"] = sum(one < 1 for one in errors)
        summary[f"{tool}_rows_quicker"] = sum(one < 1 for one in walls)
    return {"summary": summary, "table": table, "runs": found}


def background(shared: Mapping[str, Any]) -> dict[str, Any]:
    """Times a pair of known ratio while others use the GPU: right, or no verdict."""
    chains, pairs = shared["chains"], shared["pairs"]
    referee = ouroboros.Referee(mode="decide")
    rows = []
    for load in ("compute", "contexts"):
        process = subprocess.Popen([sys.executable, HERE / "clock_load.py", load])
        try:
            time.sleep(8)  # Until it computes: nothing tells.
            for number in range(LOAD_RUNS):
                pair = pairs[number % len(pairs)]
                verdict = referee.compare(
                    copy, chains.plan(pair["a"], "A"), chains.plan(pair["b"], "B")
                )
                rows.append({"load": load, "truth": pair["truth"], **timing_row(verdict)})
        finally:
            process.kill()
            process.wait()
    wrong = [
        row
        for row in rows
        if "ratio" in row
        and row["decision"] in ("faster", "slower")
        and not row["interval"][0] * 0.99 <= row["truth"] <= row["interval"][1] * 1.01
    ]
    none = [row for row in rows if row["status"] == "infrastructure_error"]
    return {
        "summary": {
            "load_runs": len(rows),
            "load_wrong": len(wrong),
            "load_infrastructure_error": len(none),
        },
        "runs": rows,
    }


def verdicts(_: Mapping[str, Any]) -> dict[str, Any]:
    """Judges kernels in full, with the gate: spread between processes, and what the clock costs."""
    kernels = HERE.parents[1] / "tests" / "gpu" / "kernels"
    rows = []
    for name in ("softmax", "rmsnorm", "layernorm"):
        path = next(kernels.glob(f"{name}__row*.py"), None) or next(kernels.glob(f"{name}__*.py"))
        referee = ouroboros.Referee(mode="decide", until="gate", dtypes=["float32"])
        problem = ouroboros.problems.load(name).with_timed_gpu([{"rows": 2048, "cols": 4096}])
        ouroboros.Referee(dtypes=["float32"]).judge(problem, path)  # Plans are stored now.
        verdict = referee.judge(problem, path)
        rows.append(json.loads(verdict.to_json()))
    gates = [row["gate"] for row in rows if row["gate"]["ran"]]
    clocks = [cell["gpu_ms"] for row in rows for cell in row["timing"]["cells"]]
    return {
        "summary": {
            "between_process_tau": max((gate["between_process_sd"] for gate in gates), default=0),
            "gates_run": len(gates),
            "verdict_clock_gpu_ms": max(clocks, default=0),
        },
        "verdicts": [
            {
                key: row[key]
                for key in (
                    "status",
                    "findings",
                    "candidate",
                    "problem",
                    "timing",
                    "gate",
                    "provenance",
                )
            }
            for row in rows
        ],
    }


PARTS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "known": known_ratios,
    "rivals": rivals,
    "verdicts": verdicts,
    "aa": same_against_same,
    "load": background,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for the JSON")
    parser.add_argument("--commit", default="", help="what is measured")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas")
    parser.add_argument("--resume", type=Path, help="a clock.json of the same commit to add to")
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of the runs: a look, no result"
    )
    options = parser.parse_args()
    share = 10 if options.quick else 1
    options.out.mkdir(parents=True, exist_ok=True)
    random.seed(0)
    record = provenance(options.commit)
    summary: dict[str, Any] = {}
    if options.resume is not None and options.resume.exists():
        earlier = json.loads(options.resume.read_text())
        if earlier["commit"] != options.commit or earlier["gpu"] != record["gpu"]:
            parser.error(f"{options.resume} is of another commit or GPU")
        summary = earlier.pop("summary")
        record = {**earlier, **record}
    record["calibration"] = json.loads(ouroboros.Referee().calibrate(fresh=True).model_dump_json())
    chains = Chains()
    shared = {"chains": chains, "pairs": pairs_of(chains), "share": share}
    record["pairs"] = shared["pairs"]
    record["elements"] = ELEMENTS
    failed = False
    for name in options.only.split(","):
        started = time.monotonic()
        try:
            part = PARTS[name](shared)
        except Exception:
            failed = True
            part = {"summary": {}, "error": traceback.format_exc()[-4000:]}
            print(part["error"], flush=True)
        part["wall_s"] = round(time.monotonic() - started, 2)
        summary |= part.pop("summary")
        record[name] = part
        print(f"{name}: {part['wall_s']} s", json.dumps(summary), flush=True)
        # After each part: a machine may go away half-way.
        document = {"summary": summary, **record}
        (options.out / "clock.json").write_text(json.dumps(document, indent=1) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
