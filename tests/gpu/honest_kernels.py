"""The honest kernels of tests/gpu/kernels, and what they compute: for tests and benchmarks."""

from __future__ import annotations

from pathlib import Path

from ouroboros import Axis, Problem, problems

__all__ = ["KERNELS", "PROBLEMS", "kernels", "problem_of", "small"]

HERE = Path(__file__).resolve().parent
KERNELS = HERE / "kernels"
PROBLEMS = HERE / "problems"


def kernels(*suffixes: str) -> list[Path]:
    """Returns the kernels of the tree, in order: all of them, or those with these suffixes."""
    wanted = suffixes or (".py", ".cu", ".ptx")
    return sorted(path for path in KERNELS.glob("*__*") if path.suffix in wanted)


def problem_of(path: Path) -> Problem:
    """Returns the problem in a kernel's name: one of tests/gpu/problems, or one that ships."""
    name = path.stem.partition("__")[0]
    own = PROBLEMS / f"{name}.py"
    return problems.load(own if own.exists() else name)


def small(problem: Problem, largest: int) -> Problem:
    """Returns the same problem without timed cells, and no free axis above `largest`.

    An interpreter runs one program of a grid after another, and has all day otherwise.
    """
    axes = []
    for axis in problem.axes:
        highest = max(
            axis.minimum, min(axis.maximum, largest) // axis.multiple_of * axis.multiple_of
        )
        axes.append(
            axis
            if axis.fixed is not None
            else Axis(axis.name, axis.minimum, highest, axis.multiple_of)
        )
    return Problem(
        name=problem.name,
        description=problem.description,
        axes=axes,
        inputs=problem.inputs,
        outputs=problem.outputs,
        dtypes=problem.dtypes,
        reference=lambda *inputs: problem.reference(*inputs),
        nan_meaningful=problem.nan_meaningful,
        inf_meaningful=problem.inf_meaningful,
        library_kernels=problem.library_kernels,
    )
