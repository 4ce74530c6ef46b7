"""Honest kernels: every one has to be accepted, and its replay has to equal a direct run."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ouroboros
import torch
from kept_rows import KeptRows
from ouroboros._ouroboros import PlanRunner, cuda_devices
from ouroboros.trace.command import make_tracer

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/gpu"))

from honest_kernels import kernels, problem_of  # noqa: E402

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}

# Shapes at which replays are compared with direct runs; the second has no friendly divisor.
SHAPES = ((512, 1024), (37, 1000))


def measure(workers: int, rows: KeptRows) -> dict[str, Any]:
    """Judges all kernels and compares the Triton ones with direct runs."""
    paths = kernels()[:: int(os.environ.get("OUROBOROS_EVIDENCE_STRIDE", "1"))]
    referee = ouroboros.Referee(until="sweep")

    def judge(path: Path) -> dict[str, Any]:
        verdict = referee.judge(problem_of(path), path)
        if verdict.status.value != "ok":  # At once: a machine may go away half-way.
            print(f"{path.name} is refused: {verdict.summary}", flush=True)
        return {
            "kernel": path.name,
            "status": verdict.status.value,
            "seed": verdict.provenance.seed,
            "summary": verdict.summary,
            "dtypes": list(verdict.correctness.dtypes),
            "cases": verdict.correctness.cases_total,
            "variants": len(verdict.compilation.variants),
            "nondeterministic": "nondeterministic" in {one.kind for one in verdict.findings},
            "stage_s": verdict.provenance.stage_s,
        }

    known = rows.of("honest")
    with ThreadPoolExecutor(workers) as pool:
        for row in pool.map(judge, [path for path in paths if path.name not in known]):
            rows.add("honest", row["kernel"], row)
    judged = [rows.of("honest")[path.name] for path in paths]
    # Sums by atomics come out otherwise every time, and what calls a library needs a live trace.
    lucky = {row["kernel"] for row in judged if row["nondeterministic"]}
    steady = [
        path
        for path in paths
        if path.suffix == ".py" and path.name not in lucky and not path.stem.endswith("__library")
    ]
    compared = compare(steady, workers)
    accepted = sum(row["status"] == "ok" for row in judged)
    equal = sum(row["equal"] for row in compared)
    return {
        "summary": {
            "honest_total": len(judged),
            "honest_accepted": accepted,
            "nondeterministic_labelled": len(lucky),
            "bit_equal_expected": len(compared),
            "bit_equal": equal,
        },
        "failed": accepted < len(judged) or equal < len(compared),
        "kernels": judged,
        "replays": compared,
    }


def inputs_of(problem: Any, shape: tuple[int, int], dtype: torch.dtype, seed: int) -> list[Any]:
    """Draws inputs of a problem: plain normal values, and valid indices."""
    generator = torch.Generator().manual_seed(seed)
    values = {axis.name: axis.fixed for axis in problem.axes if axis.fixed is not None}
    free = [axis for axis in problem.axes if axis.fixed is None]
    for place, axis in enumerate(free):
        # Axes in between stay short.
        wanted = shape[0] if place == 0 < len(free) - 1 else shape[1]
        wanted = 24 if 0 < place < len(free) - 1 else wanted
        wanted = min(wanted, axis.maximum) // axis.multiple_of * axis.multiple_of
        values[axis.name] = max(axis.minimum, wanted)
    made = []
    for one in problem.inputs:
        sizes = [extent_of(extent, values) for extent in one.shape]
        if one.values in ("index", "length"):
            high = values[one.index_axis] + (one.values == "length")
            kind = getattr(torch, one.dtype or "int64")
            made.append(torch.randint(0, high, sizes, generator=generator).to(kind))
        else:
            kind = getattr(torch, one.dtype) if one.dtype else dtype
            drawn = torch.randn(sizes, generator=generator)
            made.append((drawn.abs() + 0.1 if one.values == "positive" else drawn).to(kind))
    return made


def extent_of(extent: int | str, values: dict[str, int]) -> int:
    """Returns an extent's value: "rows", 64 or "2*half"."""
    if isinstance(extent, int):
        return extent
    scale, star, axis = extent.partition("*")
    return int(scale) * values[axis] if star else values[extent]


def compare(paths: list[Path], workers: int) -> list[dict[str, Any]]:
    """Replays each kernel's plans and runs the kernel itself, in another process.

    Kernels take turns with dtypes and shapes.
    """
    (device, *_), _ = cuda_devices()
    tracer = make_tracer(ouroboros.Limits())
    assert tracer is not None
    rows: list[dict[str, Any]] = []
    jobs = []
    for number, path in enumerate(paths):
        problem = problem_of(path)
        # Whoever takes float16 takes bfloat16.
        names = [one for one in DTYPES if one in problem.dtypes or "float16" in problem.dtypes]
        name = names[number % len(names)]
        dtype = DTYPES[name]
        shape = SHAPES[number % len(SHAPES)]
        jobs.append((path, problem, name, inputs_of(problem, shape, dtype, number)))

    def trace(job: tuple[Any, ...]) -> list[dict[str, Any]]:
        path, problem, _, inputs = job
        signature = [
            (declared.name, str(tensor.dtype).removeprefix("torch."), list(tensor.shape))
            for declared, tensor in zip(problem.inputs, inputs, strict=True)
        ]
        return tracer.trace(
            path.read_bytes(),
            target=device["target"],
            signatures=[signature],
            outputs=problem.outputs,
            name=path.name,
        )

    with ThreadPoolExecutor(workers) as pool:
        traced = list(pool.map(trace, jobs))
    runner = PlanRunner()
    with tempfile.TemporaryDirectory() as folder:
        questions = []
        for (path, _, name, inputs), (result,) in zip(jobs, traced, strict=True):
            row: dict[str, Any] = {"kernel": path.name, "dtype": name, "equal": False}
            rows.append(row)
            if result["refusal"] is not None:
                row["refusal"] = result["refusal"]
                continue
            try:
                replays = [runner.run(plan, inputs)[0] for plan in result["variants"]]
            except ouroboros.OuroborosError as error:
                row["error"] = str(error)[:400]
                continue
            questions.append({"path": str(path), "inputs": inputs, "replays": replays, "row": row})
        asked = Path(folder) / "questions.pt"
        answered = Path(folder) / "answers.pt"
        torch.save([{k: q[k] for k in ("path", "inputs", "replays")} for q in questions], asked)
        script = Path(__file__).with_name("direct_run.py")
        subprocess.run([sys.executable, script, asked, answered], check=True)
        for question, answer in zip(questions, torch.load(answered), strict=True):
            question["row"].update(answer)
    return rows
