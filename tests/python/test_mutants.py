"""The mutants of benchmarks/mutants: what their operators make, and that the judge kills some."""

from __future__ import annotations

import ast
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import ouroboros
import pytest

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "tests" / "gpu" / "kernels"
RESULT = ROOT / "benchmarks" / "results" / "cpu" / "mutants.json"

KERNEL = """
import triton
import triton.language as tl

@triton.jit
def kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * cols + offsets, mask=offsets < cols, other=0.0).to(tl.float32)
        total += x * x
    scale = tl.rsqrt(tl.sum(total, axis=0) / cols + 1e-6)
    tl.store(out_ptr + row, scale)

def run(x):
    kernel[(triton.cdiv(x.shape[0], 1),)](x, out, x.shape[1], BLOCK=1024)
    return out
"""

TRITON = [
    ("drop_mask", "tl.load(x_ptr + row * cols + offsets).to"),
    ("less_equal_for_less", "offsets <= cols"),
    ("bound_one_short", "offsets < cols - 1"),
    ("wrong_padding", "mask=offsets < cols, other=1.0"),
    ("skipped_last_block", "range(0, cols - BLOCK, BLOCK)"),
    ("too_few_programs", "kernel[x.shape[0] // 1,]"),
    ("other_arithmetic", "total -= x * x"),
    ("swapped_operands", "cols / tl.sum(total, axis=0)"),
    ("divides_by_the_block", "tl.sum(total, axis=0) / BLOCK"),
    ("epsilon_size", "1e-05"),
    ("epsilon_place", "tl.rsqrt(tl.sum(total, axis=0) / cols) + 1e-06"),
    ("other_reduction", "tl.max(total, axis=0)"),
    ("wrong_start", "tl.full([BLOCK], 1.0, tl.float32)"),
    ("forgotten_accumulation", "total = total * 0 + x * x"),
    ("dropped_wide_index", "row = tl.program_id(0)\n"),
    ("half_accumulator", "total = (total + x * x).to(tl.float16).to(tl.float32)"),
    ("stride_off_by_one", "row * (cols + 1)"),
    ("shifted_address", "tl.store(out_ptr + row + 1, scale)"),
    ("other_program_axis", "tl.program_id(1)"),
    ("dropped_store", "+ 1e-06)\n    pass"),
]

CUDA_KERNEL = """// A kernel; i < cols in a comment stays.
//! launch kernel<<<cdiv(rows, 4), 128>>>(x, out, cols)
using T = OUROBOROS_DTYPE;
extern "C" __global__ void kernel(const T* x, T* out, int cols) {
  float total = 0.0f;
  for (int i = threadIdx.x; i < cols; i += threads) total += expf(static_cast<float>(x[i]) - peak);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = static_cast<T>(rsqrtf(total / cols + 1e-6f));
}
"""

CUDA = [
    ("less_equal_for_less", "i <= cols; i +="),
    ("bound_one_short", "i < cols - 1;"),
    ("missing_max_subtraction", "expf(static_cast<float>(x[i]))"),
    ("epsilon_place", "rsqrtf(total / cols) + 1e-6f"),
    ("dropped_barrier", "  \n  if (threadIdx.x == 0)"),
    ("too_few_programs", "<<<(rows) / 4, 128>>>"),
    ("rough_function", "__expf("),
    ("shifted_address", "x[i + 1]"),
]

KILLED = (
    "drop_mask",
    "bound_one_short",
    "too_few_programs",
    "other_arithmetic",
    "half_input",
    "other_pointer",
    "folded_input",
)


@pytest.fixture(scope="module", autouse=True)
def modules() -> Iterator[None]:
    sys.path.insert(0, str(ROOT / "benchmarks" / "mutants"))
    yield
    sys.path.pop(0)


def module(name: str) -> ModuleType:
    return importlib.import_module(name)


def made(name: str, source: str) -> Callable[[str], list[str]]:
    mutants = module(name).mutants(source)
    return lambda operator: [one.source for one in mutants if one.operator == operator]


@pytest.mark.parametrize(("operator", "text"), TRITON, ids=[name for name, _ in TRITON])
def test_triton_operators_do_what_they_say(operator: str, text: str) -> None:
    sources = made("triton_mutants", KERNEL)(operator)
    assert any(text in source for source in sources), sources


@pytest.mark.parametrize(("operator", "text"), CUDA, ids=[name for name, _ in CUDA])
def test_cuda_operators_do_what_they_say(operator: str, text: str) -> None:
    sources = made("cuda_mutants", CUDA_KERNEL)(operator)
    assert any(text in source for source in sources), sources
    assert all("; i < cols in a comment stays." in source for source in sources)


def test_mutants_are_valid_and_distinct_and_the_same_every_time() -> None:
    mutants = module("triton_mutants").mutants(KERNEL)
    assert mutants == module("triton_mutants").mutants(KERNEL)
    sources = [one.source for one in mutants]
    assert len(sources) > 60
    assert len(set(sources)) == len(sources)
    original = ast.unparse(ast.parse(KERNEL))
    for source in sources:
        assert ast.unparse(ast.parse(source)) != original


def test_a_sample_has_every_operator_and_stays_the_same() -> None:
    library = module("triton_mutants")
    mutants = library.mutants(KERNEL)
    sample = library.chosen(mutants, 1)
    assert [one.operator for one in sample] == list(dict.fromkeys(m.operator for m in mutants))
    assert sample == library.chosen(mutants[::-1][::-1], 1)


def test_the_judge_kills_mutants_and_not_the_kernel() -> None:
    pytest.importorskip("triton")
    source = (KERNELS / "rope__flat.py").read_text()
    referee = ouroboros.Referee(until="sweep", target="sm_90", dtypes=["float32"], seed=1)
    assert referee.judge("rope", source).status == "ok"
    sources = made("triton_mutants", source)
    for operator in KILLED:
        verdict = referee.judge("rope", sources(operator)[0])
        assert verdict.status in ("incorrect", "runtime_error"), operator


def test_rows_survive_a_cut(tmp_path: Path) -> None:
    rows = module("rows").Rows(tmp_path / "rows.jsonl")
    rows.add({"kernel": "k", "key": "1"})
    with rows.path.open("a") as file:
        file.write('{"kernel": "k", "ke')
    again = module("rows").Rows(rows.path)
    assert again.has("k", "1")
    again.add({"kernel": "k", "key": "2"})
    assert [row["key"] for row in module("rows").Rows(rows.path).rows] == ["1", "2"]


def test_the_published_figures_add_up() -> None:
    result: dict[str, Any] = json.loads(RESULT.read_text())
    summary = result["summary"]
    kinds = ("killed", "equivalent", "survived")
    assert summary["mutants_total"] == sum(summary[f"mutants_{kind}"] for kind in kinds)
    for groups in (result["by_operator"], result["by_kernel"]):
        for kind in kinds:
            assert sum(one[kind] for one in groups.values()) == summary[f"mutants_{kind}"]
    assert len(result["survivors"]) == summary["mutants_survived"]
    assert len(result["equivalents"]) == summary["mutants_equivalent"]
    assert all(one["why"] for one in result["survivors"] + result["equivalents"])
