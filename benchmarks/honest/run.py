"""Judges the honest kernels in Triton's interpreter: none may be refused.

    python benchmarks/honest/run.py [NAME ...]

Every Triton kernel of tests/gpu/kernels (or those whose names hold a NAME) is traced dry, compiled
and swept for sm_90, with the referee's own rules, at shapes that an interpreter can do. Needs no
GPU. Results are kept as they come, and a run that was cut off goes on where it stopped. Writes
benchmarks/results/cpu/honest.json; ends with 1 when a kernel was refused.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "tests/gpu")]

import ouroboros  # noqa: E402
from honest_kernels import kernels, problem_of, small  # noqa: E402
from machine import provenance  # noqa: E402

RESULT = ROOT / "benchmarks/results/cpu/honest.json"
SEEDS = (24001, 24002, 24003)
LARGEST = 16  # No axis is longer, where a problem lets one choose.


def judge(path: Path, seed: int, turn: int) -> dict[str, Any]:
    """Returns what became of a kernel. `turn` says whose turn it is among its dtypes."""
    problem = small(problem_of(path), LARGEST)
    # One dtype a seed, kernels and seeds in turn: a kernel has the same code for all of them.
    dtypes = [one for one in problem.dtypes if one != "float64"]
    dtype = dtypes[turn % len(dtypes)]
    # What a busy machine makes slow is not refused for it.
    referee = ouroboros.Referee(
        until="sweep", target="sm_90", seed=seed, dtypes=[dtype], limits={"compile_seconds": 300}
    )
    started = time.perf_counter()
    verdict = referee.judge(problem, path)
    found = {finding.kind: finding.evidence for finding in verdict.findings}
    return {
        "kernel": path.name,
        "seed": seed,
        "dtype": dtype,
        "status": verdict.status.value,
        "summary": verdict.summary if verdict.status.value != "ok" else "",
        "cases": len(verdict.correctness.cases),
        "error_over_allowed": verdict.correctness.max_error_over_allowed,
        "nondeterministic": "nondeterministic" in found,
        "seconds": round(time.perf_counter() - started, 2),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of kernels' names; all without one")
    parser.add_argument("--out", type=Path, default=RESULT, help="where the JSON goes")
    parser.add_argument("--workers", type=int, default=2, help="verdicts side by side")
    parser.add_argument("--seeds", type=int, default=len(SEEDS), help="how many of the seeds")
    parser.add_argument("--fresh", action="store_true", help="forget what an earlier run found")
    options = parser.parse_args()

    rows_path = options.out.with_suffix(".rows")
    if options.fresh:
        rows_path.unlink(missing_ok=True)
    rows = []
    if rows_path.exists():
        rows = [json.loads(line) for line in rows_path.read_text().splitlines()]
    # What calls a library is traced on a GPU.
    judged = [path for path in kernels(".py") if not path.stem.endswith("__library")]
    unjudged = [path.name for path in kernels() if path not in judged]
    known = {(row["kernel"], row["seed"]) for row in rows}
    wanted = [
        (path, seed, first + number)
        for first, seed in enumerate(SEEDS[: options.seeds])
        for number, path in enumerate(judged)
        if not options.names or any(name in path.stem for name in options.names)
        if (path.name, seed) not in known
    ]
    with ThreadPoolExecutor(options.workers) as pool, rows_path.open("a") as kept:
        for row in pool.map(lambda one: judge(*one), wanted):
            rows.append(row)
            print(json.dumps(row), file=kept, flush=True)
            if row["status"] != "ok":
                print(f"{row['kernel']} {row['dtype']}: {row['status']}, {row['summary']}")

    refused = sorted({row["kernel"] for row in rows if row["status"] != "ok"})
    document = {
        "benchmark": "honest",
        "summary": {
            "honest_total": len({row["kernel"] for row in rows}),
            "honest_refused": len(refused),
            "nondeterministic_labelled": sum(row["nondeterministic"] for row in rows),
            "verdicts": len(rows),
            "not_judged_without_gpu": len(unjudged),
        },
        "refused": refused,
        "not_judged_without_gpu": unjudged,
        "rows": sorted(rows, key=lambda row: (row["kernel"], row["seed"])),
        "provenance": provenance(),
    }
    options.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if not options.names:
        rows_path.unlink()
    for key, value in document["summary"].items():
        print(f"{key:26} {value}")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
