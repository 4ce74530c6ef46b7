"""How many honest kernels the dry trace takes, and how long one takes: see benchmarks/README.md.

    python benchmarks/dry_trace/run.py

Writes benchmarks/results/cpu/dry_trace.json. Ends with 1 when a kernel could not be traced.
"""

from __future__ import annotations

import os

# Before NumPy and PyTorch: a process that forks must have one thread.
os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import ouroboros
from ouroboros.trace import dry

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "tests/gpu")]

from honest_kernels import problem_of  # noqa: E402
from machine import provenance  # noqa: E402

KERNELS = ROOT / "tests/gpu/kernels"
RESULT = ROOT / "benchmarks/results/cpu/dry_trace.json"


def signature(problem: ouroboros.Problem, sizes: dict[str, int], dtype: str) -> dict[str, Any]:
    """The problem's signature at these sizes, dense and row by row."""
    inputs = []
    for entry in problem.inputs:
        shape = [eval(str(extent), {}, sizes) for extent in entry.shape]  # "rows", 64, "2*half"
        strides = [1] * len(shape)
        for axis in range(len(shape) - 2, -1, -1):
            strides[axis] = strides[axis + 1] * shape[axis + 1]
        name = entry.dtype or dtype
        inputs.append({"name": entry.name, "dtype": name, "shape": shape, "strides": strides})
    return {"inputs": inputs, "outputs": list(problem.outputs)}


def trace_in_child(request: dict[str, Any]) -> dict[str, Any]:
    """Forks, traces one signature with an empty cache, and returns what came of it."""
    with tempfile.TemporaryDirectory() as scratch:
        reader, writer = os.pipe()
        started = time.perf_counter()
        child = os.fork()
        if child == 0:
            os.close(reader)
            (outcome,) = dry.trace({**request, "scratch": scratch})
            with os.fdopen(writer, "w") as pipe:
                outcome.pop("sources")
                outcome["variants"] = [len(plan) for plan in outcome["variants"]]
                json.dump(outcome, pipe)
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            text = pipe.read()
        os.waitpid(child, 0)
        outcome = json.loads(text) if text else {"variants": [], "refusal": {"message": "died"}}
        outcome["wall_s"] = time.perf_counter() - started
        return outcome


def measure(path: Path, target: str, repeats: int) -> dict[str, Any]:
    """Traces one kernel file at its problem's first timed shape."""
    problem = problem_of(path)
    request = {
        "source": path.read_text(encoding="utf-8"),
        "name": path.stem,
        "target": target,
        "signatures": [signature(problem, problem.timed[0], problem.dtypes[0])],
    }
    outcomes = [trace_in_child(request) for _ in range(repeats)]
    return {
        "kernel": path.stem,
        "variants": len(outcomes[0]["variants"]),
        "wall_ms": [round(1e3 * outcome["wall_s"], 3) for outcome in outcomes],
        "refusal": outcomes[0]["refusal"],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULT, help="where the JSON goes")
    parser.add_argument("--kernels", type=Path, default=KERNELS, help="folder of PROBLEM__NAME.py")
    parser.add_argument("--target", default="sm_90", help="architecture to compile for")
    parser.add_argument("--repeats", type=int, default=3, help="traces of each kernel")
    options = parser.parse_args()

    record = provenance()
    started = time.perf_counter()
    dry.warm(options.target)
    warm_s = time.perf_counter() - started
    paths = sorted(options.kernels.glob("*__*.py"))
    rows = [measure(path, options.target, options.repeats) for path in paths]
    record["duration_s"] = time.perf_counter() - started

    traced = [row for row in rows if row["refusal"] is None]
    medians = [statistics.median(row["wall_ms"]) for row in traced]
    single = [statistics.median(row["wall_ms"]) for row in traced if row["variants"] == 1]
    document = {
        "benchmark": "dry_trace",
        "summary": {
            "traced": len(traced),
            "total": len(rows),
            "median_ms": round(statistics.median(medians), 3) if medians else None,
            "median_one_variant_ms": round(statistics.median(single), 3) if single else None,
            "variants": sum(row["variants"] for row in traced),
            "warm_s": round(warm_s, 3),
        },
        "provenance": {**record, "target": options.target},
        "raw": rows,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    for key, value in document["summary"].items():
        print(f"{key:24} {value}")
    for row in rows:
        if row["refusal"] is not None:
            print(f"{row['kernel']}: {row['refusal']['message']}")
    return 0 if rows and len(traced) == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
