"""Kernel launches: parameters, grids, modules."""

from __future__ import annotations

import struct
from typing import Any

import pytest

SOFTMAX = """
@triton.jit
def softmax(x, out, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride + at, mask=at < columns, other=-float("inf"))
    values = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * columns + at, values / tl.sum(values, 0), mask=at < columns)


def run(x):
    rows, columns = x.shape
    out = torch.empty((rows, columns), dtype=x.dtype, device=x.device)
    softmax[(rows,)](x, out, columns, x.stride(0), BLOCK=triton.next_power_of_2(columns))
    return out
"""


def test_a_row_kernel_becomes_a_plan(dry: Any) -> None:
    outcome = dry(SOFTMAX, dry.tensor("x", [6, 100]))
    plan = outcome.plan
    assert (plan["origin"], plan["language"], plan["target"], plan["variant"]) == (
        "dry_trace",
        "triton",
        "sm_90",
        "",
    )
    assert plan["buffers"] == [
        {"name": "x", "role": "input", "bytes": 2400, "dtype": "float32", "shape": [6, 100],
         "strides": [100, 1]},
        {"name": "out", "role": "output", "bytes": 2400, "dtype": "float32", "shape": [6, 100],
         "strides": [100, 1]},
    ]  # fmt: skip
    (kernel,) = plan["launches"]
    assert kernel["function"] == "softmax"
    assert (kernel["grid"], kernel["block"], kernel["cluster"]) == ([6, 1, 1], [128, 1, 1], [1] * 3)
    assert (plan.pointee(0, 0), plan.pointee(0, 1)) == (("x", 0), ("out", 0))
    assert (plan.parameter(0, 2, "i"), plan.parameter(0, 3, "i")) == (100, 100)
    assert plan.images[0].startswith(b"\x7fELF")
    (resources,) = outcome.kernels
    assert resources["function"] == "softmax"
    assert 8 <= resources["registers"] <= 255
    assert resources["shared_bytes"] == kernel["shared_bytes"]
    assert (resources["num_warps"], resources["spills"]) == (4, 0)


def test_a_warm_process_has_one_thread(dry: Any) -> None:
    assert dry.threads == 1


@pytest.mark.parametrize("target", ["sm_80", "sm_89", "sm_90", "sm_100"])
def test_modules_are_for_the_target(dry: Any, target: str) -> None:
    plan = dry(SOFTMAX, dry.tensor("x", [6, 100]), target=target).plan
    (flags,) = struct.unpack_from("<I", plan.images[0], 0x30)
    # The architecture stands in the second byte since CUDA 13's ELF, in the first before.
    assert int(target[3:]) in (flags & 0xFF, flags >> 8 & 0xFF)
    assert plan["target"] == target


def test_strides_of_inputs_reach_the_kernel(dry: Any) -> None:
    plan = dry(SOFTMAX, dry.tensor("x", [6, 100], strides=[128, 1])).plan
    assert plan["buffers"][0]["bytes"] == (5 * 128 + 100) * 4
    assert plan.parameter(0, 3, "i") == 128


def test_two_signatures_share_compilation(dry: Any) -> None:
    first, second = dry(
        "print('loaded')\n" + SOFTMAX,
        dry.tensor("x", [6, 100]),
        more=[(dry.tensor("x", [9, 100]),)],
    )
    assert first.plan.images == second.plan.images
    assert second.plan["launches"][0]["grid"] == [9, 1, 1]
    assert (first.log, second.log) == ("loaded\n", "")


SCALARS = """
@triton.jit
def scalars(out, a: tl.float16, b: tl.bfloat16, c, d: tl.float64, e, f, g: tl.int8, h, i, j):
    tl.store(out, a + b + c + d + e + f + g + h + i.to(tl.float32))


def run(x):
    out = torch.empty(1, device="cuda")
    scalars[(1,)](out, 0.1, 0.1, 0.1, 0.1, 7, 1 << 40, -3, True, False, 1)
    return out
"""


def test_scalars_are_encoded_as_the_kernel_reads_them(dry: Any) -> None:
    plan = dry(SCALARS, dry.tensor("x", [1])).plan
    # The last argument equals one, so Triton compiles it in and the kernel has no parameter for it.
    assert [size for _, size in plan["launches"][0]["fields"]] == [
        8,
        2,
        2,
        4,
        8,
        4,
        8,
        1,
        1,
        1,
        8,
        8,
    ]
    assert plan.parameter(0, 1, "e") == pytest.approx(0.1, rel=1e-3)
    assert plan.parameter(0, 2, "H") == 0x3DCC  # bfloat16, truncated as Triton's launcher does
    assert plan.parameter(0, 3, "f") == pytest.approx(0.1)
    assert plan.parameter(0, 4, "d") == 0.1
    assert plan.parameter(0, 5, "i") == 7
    assert plan.parameter(0, 6, "q") == 1 << 40
    assert plan.parameter(0, 7, "b") == -3
    assert (plan.parameter(0, 8, "B"), plan.parameter(0, 9, "B")) == (1, 0)
    assert (plan.parameter(0, 10, "Q"), plan.parameter(0, 11, "Q")) == (0, 0)  # unused scratch


def test_pointers_into_tensors_and_null(dry: Any) -> None:
    plan = dry(
        """
        @triton.jit
        def shift(x, bias, out, n, BLOCK: tl.constexpr):
            at = tl.arange(0, BLOCK)
            values = tl.load(x + at, mask=at < n)
            if bias is not None:
                values += tl.load(bias + at, mask=at < n)
            tl.store(out + at, values, mask=at < n)

        def run(x):
            out = torch.empty(50, device=x.device)
            shift[lambda meta: (triton.cdiv(50, meta["BLOCK"]),)](
                n=50, out=out, x=x[3:53], bias=None, BLOCK=64)
            return out
        """,
        dry.tensor("x", [100]),
    ).plan
    assert (plan.pointee(0, 0), plan.pointee(0, 1)) == (("x", 12), ("out", 0))
    assert plan.parameter(0, 2, "i") == 50


def test_misaligned_pointers_are_specialised_as_by_triton(dry: Any) -> None:
    source = """
        @triton.jit
        def double(x, out, BLOCK: tl.constexpr):
            at = tl.arange(0, BLOCK)
            tl.store(out + at, 2 * tl.load(x + at))

        def run(x):
            out = torch.empty(128, device=x.device)
            double[(1,)](x[OFFSET:OFFSET + 128], out, BLOCK=128, num_warps=1)
            return out
        """
    vector = dry.tensor("x", [256])
    aligned, shifted, moved = (
        dry(source.replace("OFFSET", str(offset)), vector).plan.images[0] for offset in (0, 1, 4)
    )
    assert aligned == moved != shifted


def test_tuples_of_arguments(dry: Any) -> None:
    plan = dry(
        """
        @triton.jit
        def add(pair, more, BLOCK: tl.constexpr):
            at = tl.arange(0, BLOCK)
            tl.store(more[0] + at, tl.load(pair[0] + at) + tl.load(pair[1][0] + at) * pair[1][1])

        def run(x, y):
            out = torch.empty_like(x)
            add[(1,)]((x, (y, 2.5)), (out, 3), BLOCK=64)
            return out
        """,
        dry.tensor("x", [64]),
        dry.tensor("y", [64]),
    ).plan
    assert [plan.pointee(0, index) for index in (0, 1, 3)] == [("x", 0), ("y", 0), ("out", 0)]
    assert plan.parameter(0, 2, "f") == 2.5


def test_two_kernels_with_scratch(dry: Any) -> None:
    plan = dry(
        """
        @triton.jit
        def partial_sums(x, sums, BLOCK: tl.constexpr):
            pid = tl.program_id(0)
            tl.store(sums + pid, tl.sum(tl.load(x + pid * BLOCK + tl.arange(0, BLOCK)), 0))

        @triton.jit
        def total(sums, out, COUNT: tl.constexpr):
            tl.store(out, tl.sum(tl.load(sums + tl.arange(0, COUNT)), 0))

        def run(x):
            unused = torch.empty(1000, device="cuda")
            sums = x.new_empty(8)
            out = torch.empty((), device=x.device)
            partial_sums[(8,)](x, sums, BLOCK=128)
            total[1,](sums, out, COUNT=8)
            return out
        """,
        dry.tensor("x", [1024]),
    ).plan
    assert [buffer["name"] for buffer in plan["buffers"]] == ["x", "out", "scratch0"]
    assert plan["buffers"][2] == {"name": "scratch0", "role": "scratch", "bytes": 32}
    assert plan["buffers"][1]["shape"] == []
    assert [kernel["module"] for kernel in plan.kernels] == [0, 1]
    assert plan.pointee(0, 1) == plan.pointee(1, 0) == ("scratch0", 0)


def test_a_grid_without_programs_launches_nothing(dry: Any) -> None:
    plan = dry(SOFTMAX, dry.tensor("x", [0, 100])).plan
    assert plan["launches"] == []
    assert [buffer["bytes"] for buffer in plan["buffers"]] == [0, 0]


def test_clusters(dry: Any) -> None:
    source = SOFTMAX.replace("BLOCK=triton", "num_ctas=2, num_warps=8, BLOCK=triton")
    # Without reductions: across blocks of a cluster, older versions of Triton cannot compile them.
    source = source.replace("values - tl.max(values, 0)", "values")
    source = source.replace("tl.sum(values, 0)", "2")
    (kernel,) = dry(source, dry.tensor("x", [6, 1024])).plan["launches"]
    assert (kernel["grid"], kernel["cluster"]) == ([12, 1, 1], [2, 1, 1])
    assert kernel["block"] == [256, 1, 1]


def test_cooperative_launches_are_recorded_and_dependent_ones_refused(dry: Any) -> None:
    cooperative = SOFTMAX.replace("BLOCK=triton", "launch_cooperative_grid=True, BLOCK=triton")
    assert dry(cooperative, dry.tensor("x", [6, 100])).plan["launches"][0]["cooperative"] is True
    dependent = SOFTMAX.replace("BLOCK=triton", "launch_pdl=True, BLOCK=triton")
    refusal = dry(dependent, dry.tensor("x", [6, 100])).refused
    assert (refusal["kind"], refusal["op"]) == ("unsupported", "launch_pdl")


def test_the_cubin_is_that_of_triton_itself(dry: Any) -> None:
    # The candidate compiles its kernel once more, through triton.compile, and says the hash.
    outcome = dry(
        SOFTMAX
        + """
import hashlib
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

source = ASTSource(
    softmax,
    {"x": "*fp32", "out": "*fp32", "columns": "i32", "stride": "i32", "BLOCK": "constexpr"},
    {(4,): 128},
    {(0,): [["tt.divisibility", 16]], (1,): [["tt.divisibility", 16]],
     (3,): [["tt.divisibility", 16]]},
)
compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})
print(hashlib.sha256(compiled.asm["cubin"]).hexdigest())
""",
        dry.tensor("x", [6, 100], strides=[128, 1]),
    )
    assert outcome.plan["images"][0]["sha256"] == outcome.log.strip()


def test_a_tutorial_that_compiles_before_it_launches(dry: Any) -> None:
    outcome = dry(
        SOFTMAX.partition("def run")[0]
        + """
def run(x):
    rows, columns = x.shape
    out = torch.empty_like(x)
    kernel = softmax.warmup(x, out, columns, x.stride(0), BLOCK=128, num_warps=8, grid=(1,))
    kernel._init_handles()
    properties = triton.runtime.driver.active.utils.get_device_properties(0)
    programs = properties["max_num_regs"] // (kernel.n_regs * 32 * 8)
    kernel[(min(rows, programs * properties["multiprocessor_count"]), 1, 1)](
        x, out, columns, x.stride(0), 128)
    return out
""",
        dry.tensor("x", [3, 100]),
    )
    assert outcome.plan["launches"][0]["grid"] == [3, 1, 1]
    assert outcome.plan["launches"][0]["block"] == [256, 1, 1]
