"""Makes wrong kernels of right ones: mutants of CUDA C++ texts, one change each.

An operator is a pattern and what may stand in its place. Comments and preprocessor lines stay as
they are; of the launch specification only what its own operators say is changed. Operators that do
what one of triton_mutants.py does have its name.
"""

from __future__ import annotations

import re

from triton_mutants import Mutant

__all__ = ["OPERATORS", "mutants"]

NAME = r"[A-Za-z_][\w:.]*"
FACTOR = rf"(?:{NAME}(?:\[[^\]]*\])?|\d+(?:\.\d+)?(?:e-?\d+)?f?)"
ROUNDED = "__bfloat162float(__float2bfloat16({}))"

OPERATORS: dict[str, tuple[str, tuple[str, ...]]] = {
    # Masks and bounds.
    "drop_mask": (r"if \((?:i|row|pair) (?:<|>=) \w+\) (?=return|out)", ("if (false) ",)),
    "less_equal_for_less": (rf"(?<=\w) < (?={FACTOR})", (" <= ",)),
    "bound_one_short": (r"(?<= < )(cols|count|rows|end|gridDim\.y)\b", (r"\1 - 1",)),
    "other_comparison": (r"(?<=\w) (?:>=|<|>) (?=\w)", (" == ",)),
    # Blocks and loops.
    "skipped_first_block": (r"(?<=int i = )threadIdx\.x\b", ("threadIdx.x + threads",)),
    "skipped_last_block": (r"(?<=i < )(cols|end|count)\b", (r"\1 - 32",)),
    "loop_one_short": (r"(?<=offset > )0\b", ("1",)),
    "wrong_step": (r"(?<=\+= )(threads|32|step)\b", (r"\1 + 1", r"2 * \1")),
    "too_few_programs": (r"cdiv\(([^,()]+(?:\([^()]*\))?[^,()]*), (\d+)\)", (r"(\1) / \2",)),
    # Arithmetic.
    "other_arithmetic": (r"(?<=[\w)\]]) (?:-|\+|\*) (?=[\w(])", (" + ", " - ", " * ")),
    "swapped_operands": (rf"({FACTOR}) ([-/]) ({FACTOR})", (r"\3 \2 \1",)),
    "dropped_term": (rf"({FACTOR}) [-+*/] ({FACTOR})", (r"\1", r"\2")),
    "missing_max_subtraction": (r"(?<=\)) - (?:peak|highest|shift)\b", ("",)),
    "divisor_off_by_one": (r"/ cols\b", ("/ (cols - 1)", "/ (cols + 1)")),
    "epsilon_size": (r"\b1e-[56]f\b", ("1e-4f", "1e-7f", "0.0f")),
    "epsilon_place": (r"rsqrtf\((.*) \+ (1e-[56]f)\)", (r"rsqrtf(\1) + \2",)),
    "rough_constant": (r"\b(0\.79788456|0\.044715)f", ("0.8f", r"(\1f * 1.001f)")),
    # Reductions.
    "minimum_for_maximum": (r"\b(?:fmaxf|min)\(", ("fminf(", "max(")),
    "other_reduction": (r"return a \+ b;", ("return fmaxf(a, b);", "return a;")),
    "wrong_start": (r"(?<=return |rent = )0\.0f(?=;)", ("1.0f",)),
    "wrong_start_of_maximum": (r"return -__int_as_float\(0x7f800000\)", ("return 0.0f",)),
    "wrong_start_of_sum": (r"(?<=float )(\w+) = 0\.0f", (r"\1 = 1.0f",)),
    "forgotten_accumulation": (r" \+= (?=\w+ \* \w+;|expf|static_cast|away)", (" = ",)),
    "stale_value": (r"(?m)^ +(\w+) = (?:fmaxf|over_\w+|higher)\b.*;$", ("",)),
    "lane_left_out": (r"(?<=int offset = )16\b", ("8",)),
    "part_of_the_mask": (r"\b0xffffffffu\b", ("0x0000ffffu",)),
    # Order and sharing.
    "dropped_barrier": (r"__syncthreads\(\);", ("",)),
    "other_shuffle": (r"__shfl_xor_sync\(", ("__shfl_up_sync(", "__shfl_down_sync(")),
    "everybody_writes": (r"if \(threadIdx\.x(?: % 32)? == 0\) ", ("",)),
    # Functions.
    "other_function": (r"\b(?:expf|logf|rsqrtf|tanhf)\(", ("exp2f(", "log2f(", "sqrtf(")),
    "dropped_function": (r"\b(?:expf|logf|rsqrtf|tanhf)\(", ("(",)),
    "rough_function": (r"\b(expf|logf)\(", (r"__\1(",)),
    "wrong_activation": (r"g / \(1\.0f \+ expf\(-g\)\)", ("fmaxf(g, 0.0f)",)),
    "other_choice": (r"\? ([^:;]+) : ([^:;]+)(?=;|\)|,)", (r"? \2 : \1",)),
    # Precision.
    "half_input": (r"(static_cast<float>\(\w+\[[^\]]*\]\))", (ROUNDED.format(r"\1"),)),
    "half_accumulator": (
        r"(\b\w+) \+= (\w+ \* \w+|expf\([^;]*\));",
        (r"\1 = " + ROUNDED.format(r"\1 + \2") + ";",),
    ),
    "dropped_wide_index": (r"static_cast<long long>\((\w+\.x)\)", (r"\1",)),
    # Addresses.
    "stride_off_by_one": (r"\* (cols|half|count)\b", (r"* (\1 + 1)", r"* (\1 - 1)")),
    "shifted_address": (r"\[(first \+ i|at|i|pair|row \* cols \+ i)\]", (r"[\1 + 1]", r"[\1 - 1]")),
    "other_program_axis": (r"\bblockIdx\.([xy])\b", ("blockIdx.z",)),
    "other_thread_axis": (r"\bthreadIdx\.x\b", ("threadIdx.y",)),
    # Inputs and outputs.
    "folded_input": (
        r"static_cast<float>\((?:weight|bias|up|cos|sin|residual)\[[^\]]*\]\)",
        ("1.0f", "0.0f"),
    ),
    "dropped_store": (r"(?m)^ +(?:out|sum|partial|kept|to)\[.*;$", (";",)),
    "store_of_first_programs": (
        r"(?m)^( +)((?:out|sum)\[[^;]*;)",
        (r"\1if (blockIdx.x < 100) \2",),
    ),
    "small_shared_memory": (r"shared = cols \* 4\b", ("shared = cols * 2",)),
    "wrong_argument": (r"(?m)(?<=, )rows, cols\)$", ("cols, rows)",)),
}  # fmt: skip
"""What is looked for, and what may stand in its place."""

OF_THE_LAUNCH = ("too_few_programs", "small_shared_memory", "wrong_argument")
"""Operators that change the launch specification, and nothing else."""

HALVES = "#include <cuda_bf16.h>\n"


def mutants(source: str) -> list[Mutant]:
    """Returns every mutant of a text, each text once."""
    seen = {source}
    made = []
    for name, (pattern, replacements) in OPERATORS.items():
        for found in re.finditer(pattern, source):
            start = source.rfind("\n", 0, found.start()) + 1
            line = source[start : source.find("\n", found.start())]
            if line.startswith(("#", "//")) and not launched(name, line):
                continue
            if name in OF_THE_LAUNCH and not launched(name, line):
                continue
            for replacement in replacements:
                new = found.expand(replacement)
                text = source[: found.start()] + new + source[found.end() :]
                if "__bfloat162float" in new:
                    text = with_bfloat16(text)
                if text not in seen:
                    seen.add(text)
                    number = source.count("\n", 0, found.start()) + 1
                    before = " ".join(found.group().split())
                    made.append(Mutant(name, number, before, " ".join(new.split()), text))
    return made


def launched(name: str, line: str) -> bool:
    return name in OF_THE_LAUNCH and line.startswith("//!")


def with_bfloat16(source: str) -> str:
    """Includes the header where dtypes alone do not; it is guarded against being there twice."""
    at = source.index("using T =")
    return source[:at] + HALVES + "\n" + source[at:]
