"""Why mutants live: the arguments, in one place.

A reason that begins with "hole" says what the judge's cases lack. All others say why the mutant is
no wrong kernel.
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from typing import Any

__all__ = ["ONLY_NOT_FINITE", "WHAT_WAS_NOT_RUN", "WHAT_WAS_RUN", "argued", "is_equivalent"]

WHAT_WAS_RUN = (
    "Triton mutants of tests/gpu/kernels, one of each operator and kernel, as far as the run came: "
    "the library's sweep in Triton's interpreter at a fixed seed, in float32 and float16. Mutants "
    "ran the cases of at most 40 rows (float32) and 20 rows (float16), and no more after the first "
    "that was clearly wrong; those that passed and differ from the honest kernel ran those of at "
    "most 1000 rows as well. The reference's outputs stand in for cases that were not run, and one "
    "honest kernel's launch plans for the mutants'."
)
WHAT_WAS_NOT_RUN = (
    "CUDA C++ and PTX: there was no GPU. Mutants of CUDA C++ were made and compiled by NVRTC, and "
    "none was judged (benchmarks/mutants/run.py --cuda does); PTX has no operators. bfloat16 and "
    "float64 were left out, and the cases of 4097 rows but for the mutants of "
    "store_of_first_programs. Nothing here was run on a GPU: what races, barriers or memory that "
    "was not written would show is not shown."
)
ONLY_NOT_FINITE = (
    "outside the problem: bits differ in rows with infinities or NaN alone, which the shipped "
    "problems do not give a meaning to (inf_meaningful, nan_meaningful)"
)


@dataclass(frozen=True)
class Argument:
    """What holds for some mutants: patterns of their names and texts, and the reason."""

    why: str
    equivalent: bool = False
    operator: str = "*"
    kernel: str = "*"
    before: str = "*"
    after: str = "*"
    line: int | None = None


ARGUMENTS = (
    Argument(
        "32 bits hold every index: the largest legal tensor has 8192 x 8192 elements",
        equivalent=True,
        operator="dropped_wide_index",
    ),
    Argument(
        "the interpreter's pretended GPU has so few multiprocessors that a persistent grid has at "
        "most 16 programs; on a GPU it is wrong from 20 on",
        operator="store_of_first_programs",
        kernel="*__persistent",
    ),
    Argument(
        "the operand's sign is lost in its square",
        equivalent=True,
        operator="swapped_operands",
        kernel="layernorm*",
    ),
    Argument(
        "hole: no case has rows far below zero, where a maximum that starts at zero makes every "
        "exponential zero",
        operator="wrong_start",
        before="tl.full(*inf*",
    ),
    Argument(
        "right within float32's rounding: the constant is as exact as the functions of CUDA's fast "
        "mathematics, which the tolerance is meant to take",
        operator="rough_function",
    ),
)


def found(row: dict[str, Any]) -> Argument | None:
    for one in ARGUMENTS:
        names = ("operator", "kernel", "before", "after")
        matches = all(fnmatch.fnmatchcase(row[name], getattr(one, name)) for name in names)
        if matches and one.line in (None, row["line"]):
            return one
    return None


def argued(row: dict[str, Any]) -> str | None:
    """Returns why a mutant lives; None where nothing has been said of it."""
    one = found(row)
    return None if one is None else one.why


def is_equivalent(row: dict[str, Any]) -> bool:
    """Whether what has been said of a mutant makes it another right kernel, bit by bit."""
    one = found(row)
    return one is not None and one.equivalent
