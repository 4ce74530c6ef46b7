"""How many wrong kernels the judge takes for right: see benchmarks/README.md.

    python benchmarks/mutants/run.py --rows FOLDER             # Triton, in its interpreter
    python benchmarks/mutants/run.py --rows FOLDER --compile   # CUDA C++, compiled alone
    python benchmarks/mutants/run.py --rows FOLDER --cuda --out benchmarks/results/h200

The last judges CUDA C++ on this machine's GPU.

Rows go to FOLDER as they come, and a run goes on where the last was cut off. In the end the folder
of --out gets mutants.json, from all that is there.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import ouroboros  # noqa: E402
import summary  # noqa: E402
from elsewhere import Elsewhere  # noqa: E402
from judging import ALL, TARGET, THOROUGH, Judge, row_of  # noqa: E402
from rows import SEED, Rows, about, kernels, mutants_of, problem_of  # noqa: E402
from survivors import EQUAL_BITS_ARE_ENOUGH  # noqa: E402

DTYPES = ("float32", "float16")
ROUNDS = 2
"""A kernel's mutants are judged in so many rounds: a run that is cut off has seen all kernels."""
BATCH = 32


def plainest(problem: str) -> Path:
    """Returns the kernel that is the quickest to interpret."""
    names = [path for path in kernels("py") if problem_of(path.stem) == problem]
    styles = ("tiled", "flat", "row", "keywords")
    return min(names, key=lambda path: [style not in path.stem for style in styles])


def triton(rows: Rows, options: argparse.Namespace) -> None:
    """Judges mutants, problem by problem: those of one problem share its cases."""
    paths = [one for one in kernels("py") if options.only in one.stem]
    for number, name in itertools.product(range(ROUNDS), ouroboros.problems.names()[::-1]):
        judge = None
        for path in [one for one in paths if problem_of(one.stem) == name]:
            for mutant in mutants_of(path, options.each):
                if int(mutant.key, 16) % ROUNDS != number or rows.has(path.stem, mutant.key):
                    continue
                if judge is None:
                    judge = Judge(name, options.store, SEED, DTYPES)
                    judge.prepare(plainest(name).read_text())
                rows.add({**about(path, mutant), **judge.mutant(mutant)})
                if time.monotonic() > options.until:
                    return
            print(f"round {number}, {path.stem}: {len(rows.rows)} in all", flush=True)


def elsewhere(judged: Rows, rows: Rows, options: argparse.Namespace) -> None:
    """Runs the mutants that passed on other inputs, beside their honest kernels."""
    passed = {(row["kernel"], row["key"]) for row in judged.rows if row["outcome"] != "killed"}
    others = Elsewhere()
    for path in kernels("py"):
        for mutant in mutants_of(path, options.each):
            wanted = (path.stem, mutant.key) in passed and not rows.has(path.stem, mutant.key)
            if not wanted:
                continue
            found = others.differences(path.stem, path.read_text(), mutant.source)
            rows.add({"kernel": path.stem, "key": mutant.key, "differs": found})
            if time.monotonic() > options.until:
                return


def thorough(judged: Rows, others: Rows, rows: Rows, options: argparse.Namespace) -> None:
    """Judges those again, by more cases, that passed and are not known to be equivalent."""
    equal = {(row["kernel"], row["key"]) for row in others.rows if not row["differs"]}
    wanted = {
        (row["kernel"], row["key"])
        for row in judged.rows
        if row["outcome"] != "killed" and row["operator"] not in EQUAL_BITS_ARE_ENOUGH
    }
    wanted |= {
        (row["kernel"], row["key"])
        for row in judged.rows
        if row["outcome"] != "killed" and (row["kernel"], row["key"]) not in equal
    }
    for name in ouroboros.problems.names():
        judge = None
        for path in [one for one in kernels("py") if problem_of(one.stem) == name]:
            for mutant in mutants_of(path, options.each):
                known = (path.stem, mutant.key)
                if known not in wanted or rows.has(*known):
                    continue
                if judge is None:
                    judge = Judge(name, options.store, SEED, DTYPES)
                    judge.prepare(plainest(name).read_text())
                late = mutant.operator == "store_of_first_programs"
                most = ALL if late and "persistent" not in path.stem else THOROUGH
                rows.add({**about(path, mutant), **judge.mutant(mutant, most)})
                if time.monotonic() > options.until:
                    return


def compiled(rows: Rows, options: argparse.Namespace) -> None:
    """Finds out which mutants of CUDA C++ are programs at all."""
    referee = ouroboros.Referee(until="compile", target=TARGET, dtypes=["float16"])
    for path in kernels("cu"):
        for mutant in mutants_of(path, options.each):
            if rows.has(path.stem, mutant.key):
                continue
            verdict = referee.judge(problem_of(path.stem), mutant.source, language="cuda")
            rows.add({**about(path, mutant), "status": verdict.status.value})
            if time.monotonic() > options.until:
                return


def cuda(rows: Rows, options: argparse.Namespace) -> None:
    """Judges mutants of CUDA C++ on the GPU, some at a time on the same cases."""
    referee = ouroboros.Referee(until="sweep", dtypes=DTYPES, seed=SEED)
    for path in kernels("cu"):
        left = [m for m in mutants_of(path, options.each) if not rows.has(path.stem, m.key)]
        for batch in (left[at : at + BATCH] for at in range(0, len(left), BATCH)):
            sources = [mutant.source.encode() for mutant in batch]
            started = time.monotonic()
            verdicts = referee.judge_batch(problem_of(path.stem), sources)
            seconds = (time.monotonic() - started) / len(batch)
            for mutant, verdict in zip(batch, verdicts, strict=True):
                rows.add({**about(path, mutant), **row_of(verdict), "seconds": round(seconds, 2)})
            if time.monotonic() > options.until:
                return
        print(f"{path.stem}: {len(rows.rows)} in all", flush=True)


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=Path, required=True, help="a folder for rows as they come")
    parser.add_argument("--out", type=Path, default=HERE.parent / "results" / "cpu")
    parser.add_argument("--store", type=Path, default=Path("/dev/shm/ouroboros-mutants"),
                        help="a folder of /dev/shm for plans and outputs")  # fmt: skip
    parser.add_argument("--each", type=int, default=1, help="mutants of a kernel and an operator")
    parser.add_argument("--only", default="", help="part of a kernel's name")
    parser.add_argument("--minutes", type=float, default=1e9, help="when to stop each part")
    parser.add_argument("--compile", action="store_true", help="compile mutants of CUDA C++")
    parser.add_argument("--cuda", action="store_true", help="of CUDA C++, on a GPU")
    parser.add_argument("--summarise", action="store_true", help="judge nothing more")
    options = parser.parse_args(given)
    options.until = time.monotonic() + 60 * options.minutes
    for folder in (options.rows, options.store, options.out):
        folder.mkdir(parents=True, exist_ok=True)
    return options


def main() -> None:
    options = arguments()
    names = ("triton", "elsewhere", "thorough", "compiled", "cuda")
    files = {name: Rows(options.rows / f"{name}.jsonl") for name in names}
    if options.compile:
        compiled(files["compiled"], options)
    elif options.cuda and not options.summarise:
        cuda(files["cuda"], options)
    elif not options.summarise:
        triton(files["triton"], options)
        elsewhere(files["triton"], files["elsewhere"], options)
        thorough(files["triton"], files["elsewhere"], files["thorough"], options)
    if options.cuda:
        summary.write_cuda(options.out / "mutants.json", files["cuda"].rows)
    else:
        summary.write(options.out / "mutants.json", {name: one.rows for name, one in files.items()})


if __name__ == "__main__":
    main()
