"""Which mutants there are, and the files of what was found of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

import cuda_mutants
import triton_mutants
from ouroboros import problems
from triton_mutants import Mutant, chosen

__all__ = ["SEED", "Row", "Rows", "about", "kernels", "mutants_of", "problem_of"]

Row: TypeAlias = dict[str, Any]

ROOT = Path(__file__).resolve().parents[2]
SEED = 20260611
ALIKE = ("dropped_wide_index",)
"""Operators that do the same to every kernel: the plainest kernel of each problem is enough."""


def kernels(suffix: str) -> list[Path]:
    """Returns the honest kernels of shipped problems that are written so: "py" or "cu"."""
    found = sorted((ROOT / "tests" / "gpu" / "kernels").glob(f"*__*.{suffix}"))
    return [path for path in found if problem_of(path.stem) in problems.names()]


def problem_of(kernel: str) -> str:
    return kernel.split("__")[0]


def mutants_of(path: Path, each: int) -> list[Mutant]:
    """Returns a kernel's mutants, so many of each operator."""
    if path.suffix == ".cu":
        return chosen(cuda_mutants.mutants(path.read_text()), each)
    sample = chosen(triton_mutants.mutants(path.read_text()), each)
    return [one for one in sample if "__row" in path.stem or one.operator not in ALIKE]


def about(path: Path, mutant: Mutant) -> Row:
    """Returns the part of a row that says which mutant it is."""
    return {
        "kernel": path.stem,
        "operator": mutant.operator,
        "key": mutant.key,
        "line": mutant.line,
        "before": mutant.before,
        "after": mutant.after,
    }


class Rows:
    """A file with a row a line, which a run that was cut off leaves whole but for its last."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[Row] = []
        if path.exists():
            whole = path.read_text().rpartition("\n")[0]
            self.rows = [json.loads(line) for line in whole.splitlines()]
            path.write_text("".join(json.dumps(row) + "\n" for row in self.rows))
        self.known = {(row["kernel"], row["key"]) for row in self.rows}

    def has(self, kernel: str, key: str) -> bool:
        return (kernel, key) in self.known

    def add(self, row: Row) -> None:
        self.rows.append(row)
        self.known.add((row["kernel"], row["key"]))
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")
