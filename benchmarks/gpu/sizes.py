"""What a verdict takes at KernelBench sizes, on this machine's GPU: see benchmarks/README.md.

    python benchmarks/gpu/sizes.py --out benchmarks/results/h200 --commit HASH

Extents of KernelBench files are fixed, so that nothing can be judged at smaller ones. Each row is a
verdict in a process of its own, whose memory is measured. Writes sizes.json to the folder of --out.
With --rows, rows are kept in that file as they come, and a run that was cut off goes on from there.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ouroboros
import torch
from evidence import provenance
from kept_rows import KeptRows
from ouroboros.problems import kernelbench

HERE = Path(__file__).resolve().parent
HONEST = HERE.parents[1] / "tests" / "gpu" / "kernels"
MOST_S = 280
"""After so long a verdict is given up, and its row says so."""


class Elementwise(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x)


class Softmax(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(x, dim=1)


class Product(torch.nn.Module):
    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return a @ b


class Network(torch.nn.Module):
    """Ten layers: twenty parameters and an input are twenty-one arguments of the candidate."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(1024, 1024) for _ in range(10))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


LAYERS = """

one_layer = run


def run(x, *parameters):
    for weight, bias in zip(parameters[::2], parameters[1::2]):
        x = one_layer(x, weight, bias)
    return x
"""


@dataclass(frozen=True)
class Sized:
    """A model, the shapes of what `get_inputs` returns, and the source of an honest candidate."""

    model: Callable[[], torch.nn.Module]
    shapes: tuple[tuple[int, ...], ...]
    candidate: Path
    more: str = ""


ROWS = {
    "relu 2^24": Sized(Elementwise, ((4096, 4096),), HERE / "kernels/relu.py"),
    "network of 21 arguments": Sized(
        Network, ((128, 1024),), HONEST / "linear_relu__tiled.py", LAYERS
    ),
    "product 4096^3": Sized(Product, ((4096, 4096),) * 2, HONEST / "matmul__tiled.py"),
    "relu 2^26": Sized(Elementwise, ((8192, 8192),), HERE / "kernels/relu.py"),
    "softmax 2^26": Sized(Softmax, ((4096, 16384),), HONEST / "softmax__looped.py"),
    "product 16384 x 32 x 16384": Sized(
        Product, ((16384, 32), (32, 16384)), HONEST / "matmul__tiled.py"
    ),
}


def problem_of(name: str, sized: Sized) -> ouroboros.Problem:
    """Returns the problem that a KernelBench file of these would be."""
    module = types.ModuleType(name)
    module.Model = sized.model  # type: ignore[attr-defined]
    module.get_init_inputs = list  # type: ignore[attr-defined]
    module.get_inputs = lambda: [  # type: ignore[attr-defined]
        torch.rand(shape) for shape in sized.shapes
    ]
    return kernelbench.from_module(module, name="sized")


def judge(name: str) -> dict[str, Any]:
    """Returns what a verdict of this row took, and the most memory that its process held."""
    sized = ROWS[name]
    problem = problem_of(name, sized)
    started = time.monotonic()
    source = sized.candidate.read_text(encoding="utf-8") + sized.more
    verdict = ouroboros.Referee(until="time").judge(problem, source)
    wall_s = time.monotonic() - started
    return {
        "status": verdict.status.value,
        "summary": verdict.summary,
        "arguments": len(problem.inputs),
        "cases": verdict.correctness.cases_total,
        "findings": [one.kind for one in verdict.findings],
        "latency_us": [cell.latency_us.estimate for cell in verdict.timing.cells],
        "wall_s": round(wall_s, 2),
        "stage_s": verdict.provenance.stage_s,
        "peak_rss_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2),
    }


def judge_apart(name: str) -> dict[str, Any]:
    """Does so in a process of its own."""
    started = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, __file__, "--row", name],
            capture_output=True,
            text=True,
            check=False,
            timeout=MOST_S,
        )
    except subprocess.TimeoutExpired:
        return {"status": "given up", "wall_s": round(time.monotonic() - started, 2)}
    if done.returncode != 0:
        return {"status": "error", "summary": done.stderr[-2000:]}
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def summary_of(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Returns the result file's summary."""
    return {
        "rows": len(found),
        "accepted": sum(row["status"] == "ok" for row in found.values()),
        "wall_s_longest": max(row.get("wall_s", 0.0) for row in found.values()),
        "peak_rss_gib_largest": max(row.get("peak_rss_gib", 0.0) for row in found.values()),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="folder for the JSON")
    parser.add_argument("--commit", default="", help="what is measured")
    parser.add_argument("--rows", type=Path, help="file of rows to go on from")
    parser.add_argument("--row", choices=ROWS, help="print one row, measured in this process")
    options = parser.parse_args()
    if options.row:
        print(json.dumps(judge(options.row)))
        return 0
    if options.out is None:
        parser.error("--out or --row is needed")
    options.out.mkdir(parents=True, exist_ok=True)
    rows = KeptRows(options.rows, options.commit)
    for name in ROWS:
        if name not in rows.of("sizes"):
            rows.add("sizes", name, judge_apart(name))
        found = rows.of("sizes")
        print(name, found[name], flush=True)
        # After each row: a machine may go away half-way.
        document = {"summary": summary_of(found), **provenance(options.commit), "verdicts": found}
        (options.out / "sizes.json").write_text(json.dumps(document, indent=1) + "\n")
    return 0 if all(row["status"] == "ok" for row in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
