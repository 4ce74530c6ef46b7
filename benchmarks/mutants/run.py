"""How many wrong kernels the judge takes for right: see benchmarks/README.md.

    python benchmarks/mutants/run.py --rows FOLDER             # Triton, in its interpreter
    python benchmarks/mutants/run.py --rows FOLDER --cuda      # CUDA C++, on this machine's GPU
    python benchmarks/mutants/run.py --rows FOLDER --compile   # CUDA C++, compiled alone

Rows are written as they come, and a run goes on where the last was cut off. The summary is written
to mutants.json in the folder of --out.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from judging import Judge  # noqa: E402
from triton_mutants import Mutant, chosen, mutants  # noqa: E402

Row: TypeAlias = dict[str, Any]

TRITON = ROOT / "tests" / "gpu" / "kernels"
SEED = 20260611
DTYPES = ("float32", "float16")
ROUNDS = 2
ALIKE = ("dropped_wide_index",)
"""Operators that do the same to every kernel: the plainest kernel of each problem is enough."""


def kernels(suffix: str) -> list[Path]:
    return sorted(TRITON.glob(f"*__*.{suffix}"))


def problem_of(kernel: str) -> str:
    return kernel.split("__")[0]


def plainest(problem: str) -> Path:
    """Returns the kernel that is the quickest to interpret."""
    names = [path for path in kernels("py") if problem_of(path.stem) == problem]
    styles = ("tiled", "flat", "row", "keywords")
    return min(names, key=lambda path: [style not in path.stem for style in styles])


def triton_round(path: Path, number: int, each: int) -> list[Mutant]:
    """Returns a kernel's mutants of one round: every other one of the sample is in the first."""
    sample = chosen(mutants(path.read_text()), each)
    if "__row" not in path.stem:
        sample = [one for one in sample if one.operator not in ALIKE]
    return [one for one in sample if int(one.key, 16) % ROUNDS == number]


class Rows:
    """A file with a row a line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: list[Row] = []
        if path.exists():
            self.rows = [json.loads(line) for line in path.read_text().splitlines()]
        self.known = {(row["kernel"], row["key"]) for row in self.rows}

    def add(self, row: Row) -> None:
        self.rows.append(row)
        self.known.add((row["kernel"], row["key"]))
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")


def triton(rows: Rows, options: argparse.Namespace) -> None:
    """Judges mutants, problem by problem: those of one problem share its cases."""
    paths = [one for one in kernels("py") if options.only in one.stem]
    for number in range(ROUNDS):
        for name in dict.fromkeys(problem_of(path.stem) for path in paths):
            judge = None
            same = [one for one in paths if problem_of(one.stem) == name]
            for path in same:
                wanted = triton_round(path, number, options.each)
                wanted = [one for one in wanted if (path.stem, one.key) not in rows.known]
                if not wanted:
                    continue
                if judge is None:
                    judge = Judge(name, options.store, SEED, DTYPES)
                    judge.prepare(plainest(name).read_text())
                for mutant in wanted:
                    rows.add({**about(path, mutant), **judge.mutant(mutant)})
                    if time.monotonic() > options.until:
                        return
                last = rows.rows[-len(wanted) :]
                slow = sum(row["seconds"] for row in last) / len(last)
                alive = sum(row["outcome"] == "passed" for row in last)
                print(f"{number} {path.stem}: {len(last)}, {alive} passed, {slow:.2f} s each",
                      flush=True)  # fmt: skip


def about(path: Path, mutant: Mutant) -> Row:
    return {
        "kernel": path.stem,
        "operator": mutant.operator,
        "key": mutant.key,
        "line": mutant.line,
        "before": mutant.before,
        "after": mutant.after,
    }


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results" / "cpu")
    parser.add_argument(
        "--rows", type=Path, required=True, help="a folder for rows, which come one by one"
    )
    parser.add_argument("--store", type=Path, default=Path("/dev/shm/ouroboros-mutants"),
                        help="a folder of /dev/shm for plans and outputs")  # fmt: skip
    parser.add_argument("--each", type=int, default=1, help="mutants of a kernel and an operator")
    parser.add_argument("--only", default="", help="part of a kernel's name")
    parser.add_argument("--minutes", type=float, default=1e9)
    options = parser.parse_args(given)
    options.until = time.monotonic() + 60 * options.minutes
    for folder in (options.rows, options.store):
        folder.mkdir(parents=True, exist_ok=True)
    return options


def main() -> None:
    options = arguments()
    rows = Rows(options.rows / "triton.jsonl")
    triton(rows, options)


if __name__ == "__main__":
    main()
