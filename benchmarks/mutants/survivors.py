"""Why mutants live: the arguments, in one place.

A reason that begins with "hole" says what the judge's cases lack. All others say why the mutant is
no wrong kernel.
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from typing import Any

__all__ = [
    "CUDA_WAS_RUN",
    "ONLY_NOT_FINITE",
    "WHAT_WAS_NOT_RUN",
    "WHAT_WAS_RUN",
    "argued",
    "is_equivalent",
]

WHAT_WAS_RUN = (
    "Triton mutants of tests/gpu/kernels, one of each operator and kernel, as far as the run came: "
    "the library's sweep in Triton's interpreter at a fixed seed, in float32 and float16. Mutants "
    "ran the cases of at most 40 rows (float32) and 20 rows (float16), and no more after the first "
    "that was clearly wrong; those that passed and are not known to be equivalent ran those of at "
    "most 1000 rows as well, but for rough_function's. The reference's outputs stand in for cases "
    "that were not run, and one honest kernel's launch plans for the mutants'. Of the first 1457 "
    "those that survived were judged again after the cases had changed, to close holes that they "
    "had shown; all others were judged once."
)
WHAT_WAS_NOT_RUN = (
    "CUDA C++ and PTX: there was no GPU. Mutants of CUDA C++ were made and compiled by NVRTC; "
    "results/h200/mutants.json judges them. PTX has no operators. bfloat16 and "
    "float64 were left out, and the cases of 4097 rows but for the mutants of "
    "store_of_first_programs. Nothing here was run on a GPU: what races, barriers or memory that "
    "was not written would show is not shown."
)
CUDA_WAS_RUN = (
    "CUDA C++ mutants of tests/gpu/kernels, one of each operator and kernel: the library's whole "
    "sweep on a GPU at a fixed seed, in float32 and float16, without the timed cells. What is "
    "called equivalent is so by the argument that is given; bits were not compared."
)
ONLY_NOT_FINITE = (
    "outside the problem: bits differ in rows with infinities or NaN alone, which the shipped "
    "problems do not give a meaning to (inf_meaningful, nan_meaningful)"
)

EQUAL_BITS_ARE_ENOUGH = (
    "wrong_padding",
    "dropped_cast",
    "dropped_wide_index",
    "other_program_axis",
    "swapped_operands",
    "rough_function",
)
"""Operators whose mutants are equivalent where bits are equal: what they change does not depend on
how many programs there are, or on where in its row a large element stands."""


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
    last_line: int | None = None


FEW_FAMILIES = (
    "hole: rows whose length is a multiple of 16 bytes go another way through the kernel, and "
    "which of the families of values meet that way in a verdict is for its seed to say"
)
PARTIAL_MAXIMUM = (
    "hole: a maximum of a part of the row will do in every case, because no late element is more "
    "than 88 above the others, where float32's exponential overflows"
)
FEW_COLUMNS = (
    "hole: no case has two to thirty columns, and in longer sums the rounding to 16 bits averages "
    "out below what is allowed"
)

ALL_LANES = (
    "PTX leaves undefined what a mask without all lanes that arrive does; this GPU exchanges "
    "between all of them"
)
SAME_FROM_ALL = "all threads that write now hold the same value, and write it to the same place"

ARGUMENTS = (
    Argument(
        "no legal row has more than 8192 columns, and only those take this kernel",
        equivalent=True,
        kernel="add_rmsnorm__shared",
        line=54,
        last_line=68,
    ),
    Argument(
        "of two floats `max` is `fmaxf`",
        equivalent=True,
        operator="minimum_for_maximum",
        before="fmaxf(",
        after="max(",
    ),
    Argument(ALL_LANES, operator="part_of_the_mask", after="0x0000ffffu"),
    Argument(SAME_FROM_ALL, equivalent=True, operator="everybody_writes"),
    Argument(SAME_FROM_ALL, equivalent=True, operator="other_thread_axis", after="threadIdx.y"),
    Argument(
        "the first lane has the same sum, and no other lane's is used",
        equivalent=True,
        operator="other_shuffle",
        after="__shfl_down_sync(",
    ),
    *(
        Argument(
            "the array in shared memory is not written again: each operation has its own, and this "
            "kernel uses each once",
            equivalent=True,
            operator="dropped_barrier",
            kernel=kernel,
            line=line,
        )
        for kernel, line in (
            ("log_softmax__block", 37),
            ("softmax__online", 37),
            ("rmsnorm__block", 32),
            ("rmsnorm__vector", 34),
        )
    ),
    Argument(
        "the loop runs once at most: rows of 8192 columns have 8 chunks",
        equivalent=True,
        operator="wrong_step",
        kernel="softmax__split",
        line=69,
    ),
    Argument(
        "no sum begins with it in this kernel",
        equivalent=True,
        operator="wrong_start",
        kernel="softmax__warp",
        line=15,
    ),
    Argument(
        "hole: no case of the sweep has more elements than its 1024 blocks take at once; the timed "
        "cell has",
        operator="wrong_step",
        kernel="swiglu__grid_stride",
    ),
    Argument(
        "right within rounding: a softmax is the same whatever is subtracted near its maximum",
        operator="half_input",
        kernel="softmax__block",
        line=45,
    ),
    Argument(
        "32 bits hold every index: the largest legal tensor has 8192 x 8192 elements",
        equivalent=True,
        operator="dropped_wide_index",
    ),
    Argument(
        "the interpreter's pretended GPU has so few multiprocessors that a persistent grid has at "
        "most 16 programs; on a GPU it is wrong from then on",
        operator="store_of_first_programs",
        kernel="*__persistent",
    ),
    Argument(
        "every program does the work of all, and stores the same",
        equivalent=True,
        operator="other_program_axis",
        kernel="*__persistent",
    ),
    Argument(
        "hole: no case has rows far below zero, where a maximum that starts at zero makes every "
        "exponential zero",
        operator="wrong_start",
        before="tl.full(*inf*",
    ),
    Argument(PARTIAL_MAXIMUM, operator="one_turn_of_the_loop", kernel="log_softmax__*"),
    Argument(
        PARTIAL_MAXIMUM + "; and " + FEW_FAMILIES.removeprefix("hole: "),
        operator="minimum_for_maximum",
        kernel="softmax__tma",
    ),
    Argument(
        "right within rounding: a softmax is the same whatever is subtracted near its maximum",
        operator="half_intermediate",
        kernel="softmax__*",
        before="tl.max(*",
    ),
    Argument(
        "right within rounding: a softmax is the same whatever is subtracted near its maximum",
        operator="half_input",
        kernel="softmax__autotuned",
        line=24,
    ),
    Argument(
        "what a lane begins with is scaled by exp(-inf) at its first element",
        equivalent=True,
        operator="wrong_start",
        kernel="*__looped",
        before="tl.zeros(*",
    ),
    Argument(
        "what it leaves out is zero",
        equivalent=True,
        operator="dropped_term",
        before="*+ 0",
    ),
    Argument(
        "programs go on until all blocks are done, however many programs there are",
        equivalent=True,
        operator="too_few_programs",
        kernel="*__persistent",
    ),
    Argument(FEW_COLUMNS, operator="half_intermediate", kernel="log_softmax__row"),
    Argument(FEW_COLUMNS, operator="half_accumulator", kernel="cross_entropy__autotuned"),
    Argument(
        "hole: no case that is no multiple of 1024 elements, or of 16 bytes a row, has 20 blocks "
        "of 1024 elements, and no timed shape is such a one",
        operator="store_of_first_programs",
        kernel="*glu__*",
    ),
    Argument(
        "hole: the tolerance of a logarithm of a sum has room for one rounding of the sum to "
        "float16, by the term that grows with the root of the row's length; and "
        + FEW_FAMILIES.removeprefix("hole: "),
        operator="half_*",
        kernel="log_softmax__tma",
    ),
    Argument(
        "the sum of the two is the same",
        equivalent=True,
        operator="swapped_arguments",
        kernel="add_rmsnorm*",
        after="*(residual, x,*",
    ),
    *(
        Argument(
            "rows that go this way are multiples of 16 bytes: none has a last block of one column",
            equivalent=True,
            operator="loop_one_short",
            kernel=kernel,
            line=line,
        )
        for kernel, line in (
            ("add_rmsnorm_gelu__tma", 15),
            ("add_rmsnorm__tma", 22),
            ("log_softmax__tma", 28),
        )
    ),
    Argument(FEW_FAMILIES, operator="half_intermediate", kernel="add_rmsnorm_gelu__tma"),
    Argument(
        "the mask that it changes is not used",
        equivalent=True,
        operator="bound_one_short",
        kernel="add_rmsnorm__tma",
        line=17,
    ),
    Argument(
        "rows of at most 8192 columns have 8 chunks at most",
        equivalent=True,
        operator="too_small_a_block",
        before="triton.next_power_of_2(chunks)",
        after="min(4096*",
    ),
    Argument(
        PARTIAL_MAXIMUM,
        operator="bound_one_short",
        kernel="log_softmax__tma",
        line=15,
    ),
    Argument(
        "hole: no case has rows far below zero, where a maximum that takes in the zeroes past the "
        "end of a row makes every exponential zero",
        operator="less_equal_for_less",
        kernel="log_softmax__tma",
        line=15,
    ),
    Argument(
        FEW_FAMILIES,
        operator="half_accumulator",
        kernel="layernorm__tma",
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
        first = row["line"] if one.line is None else one.line
        if matches and first <= row["line"] <= (one.last_line or first):
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
