"""Plans in Triton's interpreter: faithful to kernels, deaf to host code, open about the rest."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
import torch

pytest.importorskip("triton")

HEAD = """
import torch
import triton
import triton.language as tl
"""

DOUBLE = (
    HEAD
    + """
@triton.jit
def double(x_ptr, out_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    tl.store(out_ptr + at, 2.0 * tl.load(x_ptr + at, mask=mask), mask=mask)


def run(x):
    out = torch.empty_like(x)
    double[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out
"""
)
VALUES = "2.0 * tl.load(x_ptr + at, mask=mask)"

X = torch.arange(100, dtype=torch.float32) - 50

Judge = Callable[..., dict[str, Any]]


@pytest.fixture
def judge(interpret: Any) -> Judge:
    def judged(source: str, *inputs: torch.Tensor, **how: Any) -> dict[str, Any]:
        named = [(f"x{index}", x) for index, x in enumerate(inputs or (X,))]
        (result,) = interpret(source, [named], **how)
        return result

    return judged


def tensors(result: dict[str, Any]) -> list[torch.Tensor]:
    assert result["refusal"] is None, result["refusal"]
    return [
        torch.frombuffer(bytearray(one["bytes"]), dtype=getattr(torch, one["dtype"])).view(
            one["shape"]
        )
        for one in result["outputs"]
    ]


def tensor(result: dict[str, Any]) -> torch.Tensor:
    (one,) = tensors(result)
    return one


def refusal(result: dict[str, Any]) -> tuple[str, str]:
    assert result["refusal"] is not None, result["outputs"]
    assert result["outputs"] == []
    return result["refusal"]["kind"], result["refusal"]["op"]


def test_an_honest_kernel_is_right(judge: Judge) -> None:
    result = judge(DOUBLE)
    assert torch.equal(tensor(result), 2 * X)
    assert result["seconds"] > 0


def test_a_wrong_kernel_gives_its_wrong_values(judge: Judge) -> None:
    assert torch.equal(tensor(judge(DOUBLE.replace("2.0 *", "3.0 *"))), 3 * X)


def test_host_code_does_not_run_again(judge: Judge) -> None:
    """It would fail, print, and launch something else."""
    source = DOUBLE + (
        "\n\nfirst = run\n\n\ndef run(x):\n"
        "    assert type(x) is not torch.Tensor and not triton.knobs.runtime.interpret\n"
        "    print('once')\n    return first(x)\n"
    )
    result = judge(source)
    assert torch.equal(tensor(result), 2 * X)
    assert result["log"] == ""


def test_what_is_not_written_is_poison(judge: Judge) -> None:
    met = set()
    for _ in range(24):
        out = tensor(judge(DOUBLE.replace("triton.cdiv(x.numel(), 64)", "1")))
        assert torch.equal(out[:64], 2 * X[:64])
        (poison,) = set(out[64:].view(torch.int32).tolist())
        met.add("nan" if out[64].isnan() else poison)
    # Now no number, now one that memory may well hold.
    assert "nan" in met
    assert len(met) > 1


def test_bytes_that_are_no_bool_stay(judge: Judge) -> None:
    source = DOUBLE.replace("torch.empty_like(x)", "torch.empty_like(x, dtype=torch.bool)")
    source = source.replace(
        "tl.store(out_ptr", "tl.store(out_ptr.to(tl.pointer_type(tl.int8), bitcast=True)"
    )
    result = judge(source.replace(VALUES, "tl.full([BLOCK], 2, tl.int8)"))
    assert set(result["outputs"][0]["bytes"]) == {2}


def test_both_ends_of_a_tensor_are_guarded(judge: Judge) -> None:
    past = judge(DOUBLE.replace("tl.load(x_ptr + at, mask=mask)", "tl.load(x_ptr + at)"))
    assert refusal(past) == ("out_of_bounds", "load")
    assert "0 bytes past the end" in past["refusal"]["message"]
    before = judge(DOUBLE.replace("x_ptr + at,", "x_ptr - 1 + at,"))
    assert "4 bytes before the start" in before["refusal"]["message"]
    written = judge(DOUBLE.replace("out_ptr + at, 2.0", "out_ptr + 1 + at, 2.0"))
    assert refusal(written) == ("out_of_bounds", "store")


def test_inputs_are_read_only(judge: Judge) -> None:
    source = DOUBLE.replace("](x, out, x.numel()", "](out, x, x.numel()")
    assert refusal(judge(source)) == ("input_written", "store")


def test_memsets_and_copies_are_carried_out_in_order(judge: Judge) -> None:
    source = DOUBLE.replace("    return out", "    out[:50].fill_(7.0)\n    return out.clone()")
    out = tensor(judge(source))
    assert torch.equal(out[50:], 2 * X[50:])
    assert (out[:50] == 7).all()


def test_each_variant_is_a_plan_of_its_own(judge: Judge) -> None:
    configs = "[triton.Config({'TIMES': n}) for n in (2, 3)]"
    source = DOUBLE.replace(
        "@triton.jit", f"@triton.autotune(configs={configs}, key=['count'])\n@triton.jit"
    )
    source = source.replace("count, BLOCK", "count, TIMES: tl.constexpr, BLOCK")
    source = source.replace("2.0 *", "TIMES *")
    assert torch.equal(tensor(judge(source, variant=0)), 2 * X)
    assert torch.equal(tensor(judge(source, variant=1)), 3 * X)


def test_one_refusal_does_not_spoil_the_next_signature(interpret: Any) -> None:
    source = DOUBLE.replace("tl.load(x_ptr + at, mask=mask)", "tl.load(x_ptr + at)")
    first, second = interpret(source, [[("x", X)], [("x", X[:64])]])
    assert refusal(first) == ("out_of_bounds", "load")
    assert "tl.load(x_ptr + at)" in first["refusal"]["traceback"]
    assert torch.equal(tensor(second), 2 * X[:64])


def test_helpers_globals_and_defaults_are_carried(judge: Judge) -> None:
    source = (
        HEAD
        + """
from triton.language import exp as power_of_e

FACTOR = tl.constexpr(3)
KIND = tl.float32


def of_a_factory():
    offset = tl.constexpr(0.5)

    @triton.jit
    def shifted(values):
        return values + offset

    return shifted


shifted = of_a_factory()


@triton.jit
def scaled(values, by=FACTOR, *, twice: tl.constexpr = True):
    if twice:
        values = values * 2
    return shifted(values * by)
"""
        + DOUBLE.split("tl\n", 1)[1]
    )
    source = source.replace(VALUES, f"power_of_e(scaled({VALUES[6:]}.to(KIND)) / 1000.0)")
    expected = torch.exp((X * 6 + 0.5) / 1000)
    assert torch.allclose(tensor(judge(source)), expected, rtol=1e-6)


def test_reductions_and_scans_by_a_function_of_ones_own(judge: Judge) -> None:
    source = (
        HEAD
        + """
@triton.jit
def larger(one, other):
    return tl.where(one > other, one, other)


@triton.jit
def double(x_ptr, out_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    print("ignored", 1)
    at = tl.associative_scan(x, 0, larger) + tl.reduce(x, axis=0, combine_fn=larger)
    at = tl.minimum(at, at, propagate_nan=tl.PropagateNan.ALL)
    tl.store(out_ptr + tl.arange(0, 16), at * x.dtype.primitive_bitwidth)


def run(x):
    out = torch.empty_like(x)
    double[(1,)](x, out)
    return out
"""
    )
    x = torch.tensor([3.0, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3])
    assert torch.equal(tensor(judge(source, x)), 32 * (x.cummax(0).values + 9))


def test_all_kinds_of_arguments_are_found_in_the_plan(judge: Judge) -> None:
    source = DOUBLE.replace("count, BLOCK", "both, more, one, scale, flag, far, DTYPE, BLOCK")
    source = source.replace("at < count", "at < both[1]")
    source = source.replace("2.0 *", "(scale + one + (far - 5000000000).to(DTYPE)) *")
    source = source.replace("mask=mask)\n", "mask=mask & flag & (more is None))\n")
    source = source.replace("x_ptr + at", "both[0] + at")
    source = source.replace(
        "x.numel(), BLOCK", "(x, x.numel()), None, 1, 0.25, True, 5000000003, tl.float32, BLOCK"
    )
    source = source.replace("DTYPE, BLOCK", "DTYPE: tl.constexpr, BLOCK")
    assert torch.equal(tensor(judge(source)), 4.25 * X)


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_tensor_descriptors_are_those_of_the_plan(judge: Judge, target: str) -> None:
    """On the newer one a map of the plan says what they describe, on the older one a pointer."""
    source = (
        HEAD
        + """
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def double(source, target):
    target.store([0, 16], 2.0 * source.load([0, 16]))
    target.store([0, 0], source.load([0, 0]))


def run(x):
    out = torch.empty_like(x)
    double[(1,)](*(TensorDescriptor.from_tensor(one, [4, 16]) for one in (x, out)))
    return out
"""
    )
    x = torch.arange(3 * 24, dtype=torch.float32).view(3, 24)
    expected = torch.cat([x[:, :16], 2 * x[:, 16:]], 1)
    assert torch.equal(tensor(judge(source, x, target=target)), expected)


@pytest.mark.parametrize(
    ("dtype", "update", "start", "expected"),
    [
        (torch.float32, "add", 0, lambda x: 2 * x),
        (torch.bfloat16, "add", 0, lambda x: 2 * x),
        (torch.int32, "add", 1, lambda x: 2 * x + 1),
        (torch.int32, "min", 1, lambda x: x.clamp(max=1)),
        (torch.int32, "max", 1, lambda x: x.clamp(min=1)),
        (torch.int32, "or", 6, lambda x: x | 6),
    ],
)
@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
def test_descriptors_update_memory(
    judge: Judge, target: str, dtype: torch.dtype, update: str, start: int, expected: Any
) -> None:
    """Two programs do, and what is beyond the shape stays as it was."""
    source = (
        HEAD
        + f"""
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def kernel(source, target):
    target.atomic_{update}([0, 0], source.load([0, 0]))
    target.atomic_{update}([0, 16], source.load([0, 16]))


def run(x):
    out = torch.full_like(x, {start})
    kernel[(2,)](*(TensorDescriptor.from_tensor(one, [4, 16]) for one in (x, out)))
    return out
"""
    )
    x = (torch.arange(3 * 24) - 30).view(3, 24).to(dtype)
    assert torch.equal(tensor(judge(source, x, target=target)), expected(x))


def test_descriptors_of_unsigned_integers_order_them_as_such(judge: Judge) -> None:
    source = (
        HEAD
        + """
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def kernel(source, target):
    target.atomic_max([0, 0], source.load([0, 0]))


def run(x):
    out = torch.full_like(x, 7)
    views = (one.view(torch.uint32) for one in (x, out))
    kernel[(1,)](*(TensorDescriptor.from_tensor(one, [4, 16]) for one in views))
    return out
"""
    )
    x = (torch.arange(4 * 16, dtype=torch.int32) - 30).view(4, 16)
    assert torch.equal(tensor(judge(source, x)), x.where((x < 0) | (x > 7), 7))


def test_programs_add_bfloat16_to_one_place(judge: Judge) -> None:
    """The interpreter by itself adds their bits."""
    source = (
        HEAD
        + """
@triton.jit
def kernel(x_ptr, out_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.program_id(0) * N + tl.arange(0, N))
    tl.atomic_add(out_ptr + tl.arange(0, N) % 8, x)


def run(x):
    out = torch.zeros(8, dtype=x.dtype, device=x.device)
    kernel[(4,)](x, out, N=16)
    return out
"""
    )
    x = (torch.arange(64) % 5 - 2).to(torch.bfloat16)
    assert torch.equal(tensor(judge(source, x)), x.view(8, 8).sum(0))


def test_bfloat16_is_rounded_to_nearest(judge: Judge) -> None:
    """The interpreter truncates by itself."""
    x = torch.tensor([1.0039, 1.00390625, 1.01171875, -3.99999, 3.4e38, torch.inf, torch.nan, 0.0])
    source = DOUBLE.replace("2.0 *", "").replace(
        "empty_like(x)", "empty_like(x, dtype=torch.bfloat16)"
    )
    out = tensor(judge(source, x))
    assert torch.equal(out.nan_to_num(7.0), x.to(torch.bfloat16).nan_to_num(7.0))


def test_bfloat16_is_computed_with(judge: Judge) -> None:
    """The interpreter by itself adds, compares and multiplies the bits."""
    source = (
        HEAD
        + """
@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def kernel(x_ptr, sum_ptr, low_ptr, dot_ptr, top_ptr, scan_ptr, all_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(sum_ptr + at, x + 3.0 * x)
    tl.store(low_ptr + at, tl.where(x < 0, -x, x * (1 + at % 2)))
    square = tl.reshape(x, (16, 16))
    tl.store(dot_ptr + at, tl.reshape(tl.dot(square, square), (N,)))
    tl.store(top_ptr, tl.argmax(x, axis=0))
    tl.store(top_ptr + 1, tl.reduce(x, 0, larger).to(tl.int32))
    tl.store(scan_ptr + at, tl.associative_scan(x, 0, larger))
    tl.atomic_add(all_ptr + at % 2, x)


def run(x):
    outs = [torch.empty_like(x) for _ in range(3)]
    top = torch.empty(2, dtype=torch.int32, device="cuda")
    scan, total = torch.empty_like(x), torch.zeros(2, dtype=x.dtype, device="cuda")
    kernel[(1,)](x, *outs, top, scan, total, N=256)
    return *outs, top, scan, total
"""
    )
    # Small integers, whose sums and products are exact.
    x = ((torch.arange(256) * 37) % 8 - 4).to(torch.bfloat16)
    added, chosen, product, top, scan, total = tensors(judge(source, x, outputs=tuple("abcdef")))
    wide = x.float()
    assert torch.equal(added.float(), 4 * wide)
    even_odd = wide * (1 + torch.arange(256) % 2)
    assert torch.equal(chosen.float(), torch.where(wide < 0, -wide, even_odd))
    square = wide.view(16, 16)
    assert torch.equal(product.float().view(16, 16), (square @ square).bfloat16().float())
    assert top.tolist() == [int(wide.argmax()), int(wide.max())]
    assert torch.equal(scan.float(), wide.cummax(0).values)
    assert total.tolist() == [wide[0::2].sum(), wide[1::2].sum()]


@pytest.mark.parametrize(
    "mask",
    ["mask & (count > 7)", "(count > 7) & mask", "mask & (tl.program_id(0) * 0.5 < count)",
     "mask & tl.where(count > 7, count > 5, count < 3)"],
)  # fmt: skip
def test_a_comparison_of_scalars_is_a_truth_value(judge: Judge, mask: str) -> None:
    """The interpreter by itself gives it the type of what is compared."""
    assert torch.equal(tensor(judge(DOUBLE.replace("mask=mask", f"mask={mask}"))), 2 * X)


@pytest.mark.parametrize(
    ("expression", "truth"),
    [("THREE + x", 3 + X), ("THREE - x", 3 - X), ("THREE * x", 3 * X),
     ("THREE / x", torch.tensor(3.0) / X),
     ("THREE // (i * 0 + 2)", X * 0 + 1), ("THREE % (i * 0 + 2)", X * 0 + 1),
     ("THREE & i", (3 & X.int()).float()), ("THREE | i", (3 | X.int()).float()),
     ("THREE ^ i", (3 ^ X.int()).float()), ("THREE << (i * 0 + 2)", X * 0 + 12),
     ("THREE >> (i * 0 + 1)", X * 0 + 1), ("(THREE < x).to(tl.float32)", (X > 3).float()),
     ("(THREE <= x).to(tl.float32)", (X >= 3).float()),
     ("(THREE > x).to(tl.float32)", (X < 3).float()),
     ("(THREE >= x).to(tl.float32)", (X <= 3).float()),
     ("(THREE == x).to(tl.float32)", (X == 3).float()),
     ("(THREE != x).to(tl.float32)", (X != 3).float()),
     ("x + tl.sum(-THREE * (x * 0 + 1), 0) * (THREE - 2)", X - 192)],
)  # fmt: skip
def test_a_constant_may_be_the_left_operand(
    judge: Judge, expression: str, truth: torch.Tensor
) -> None:
    source = DOUBLE.replace("@triton.jit", "THREE = tl.constexpr(3)\n\n\n@triton.jit", 1).replace(
        "    tl.store(out_ptr + at, 2.0 * tl.load(x_ptr + at, mask=mask), mask=mask)",
        "    x = tl.load(x_ptr + at, mask=mask, other=1.0)\n    i = x.to(tl.int32)\n"
        f"    tl.store(out_ptr + at, {expression}, mask=mask)",
    )
    assert torch.equal(tensor(judge(source)), truth)


@pytest.mark.parametrize(
    "asserted", ["tl.device_assert(at < 50, 'too far')", "assert at < 50, 'no'"]
)
def test_an_assertion_of_the_kernel_is_its_own_when_it_is_compiled_in(
    judge: Judge, asserted: str
) -> None:
    source = DOUBLE.replace("    mask = at", f"    {asserted}\n    mask = at")
    assert torch.equal(tensor(judge(source)), 2 * X)
    debugged = judge(source.replace("BLOCK=64)", "BLOCK=64, debug=True)"))
    assert refusal(debugged) == ("exception", "assertion")
    assumed = source.replace(asserted, "tl.assume(count < 50)")
    assert refusal(judge(assumed)) == ("exception", "assertion")


def test_what_the_interpreter_raises_is_its_own_failing(judge: Judge) -> None:
    """The compiler took the kernel, and a GPU has nothing against such a place in a descriptor."""
    source = DOUBLE.replace(VALUES, "2.0 * source.load([tl.program_id(0) * 64 + 1])")
    source = source.replace("double(x_ptr", "double(source").replace("](x,", "](described,")
    described = "triton.tools.tensor_descriptor.TensorDescriptor.from_tensor(x, [64])"
    source = source.replace("    out = ", f"    described = {described}\n    out = ")
    result = judge("import triton.tools.tensor_descriptor\n" + source)
    assert refusal(result) == ("unsupported", "AssertionError")
    assert "fails at what its compiler takes" in result["refusal"]["message"]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_function_is_mapped_over_elements(judge: Judge, dtype: torch.dtype) -> None:
    source = DOUBLE.replace(VALUES, f"tl.map_elementwise(f, {VALUES[6:]})").replace(
        "@triton.jit",
        "@triton.jit\ndef f(x):\n    if x > 0:\n        x = 2 * x\n    return x\n\n\n@triton.jit",
        1,
    )
    assert torch.equal(tensor(judge(source, X.to(dtype))), torch.where(X > 0, 2 * X, X).to(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32])
def test_all_types_are_exchanged(judge: Judge, dtype: torch.dtype) -> None:
    source = DOUBLE.replace("tl.store(out_ptr + at, 2.0", "tl.atomic_xchg(out_ptr + at, 2")
    assert torch.equal(tensor(judge(source, X.to(dtype))), (2 * X).to(dtype))


def test_floats_are_compared_and_swapped(judge: Judge) -> None:
    source = DOUBLE.replace("empty_like", "zeros_like").replace(
        "    tl.store(out_ptr + at, 2.0 * tl.load(x_ptr + at, mask=mask), mask=mask)",
        "    one = tl.program_id(0)\n    tl.atomic_cas(out_ptr + one, one.to(tl.float32), 7.0)",
    )
    assert tensor(judge(source))[:3].tolist() == [7, 0, 0]


@pytest.mark.parametrize(
    ("precision", "bits"),
    [("", 11), (', input_precision="tf32"', 11), (', input_precision="ieee"', 24),
     (', input_precision="tf32x3"', 24), (', input_precision="bf16x6"', 24),
     (', input_precision="bf16x3"', 16), (", allow_tf32=False", 24)],
)  # fmt: skip
def test_products_of_float32_are_as_coarse_as_on_tensor_cores(
    judge: Judge, precision: str, bits: int
) -> None:
    source = (
        HEAD
        + f"""
@triton.jit
def kernel(x_ptr, y_ptr, out_ptr):
    at = tl.arange(0, 16)[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(out_ptr + at, tl.dot(tl.load(x_ptr + at), tl.load(y_ptr + at){precision}))


def run(x, y):
    out = torch.empty_like(x)
    kernel[(1,)](x, y, out)
    return out
"""
    )
    x = torch.full((16, 16), 1 + 2.0**-10 + 2.0**-11 + 2.0**-20)
    x[3] = torch.inf
    made = tensor(judge(source, x, torch.eye(16) + 2.0**-30)).view(16, 16)
    short = {24: float(x[0, 0]), 16: 1 + 2.0**-10 + 2.0**-11, 11: 1 + 2.0**-9}
    assert made[0, 0] == pytest.approx(short[bits], rel=2.0**-22)
    assert torch.isinf(made[3]).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize(
    "call", ["tl.sum(x, 0)", "tl.sum(tl.where(at == 3, tl.cumsum(x, 0), 0), 0)"]
)
def test_sums_of_short_floats_are_rounded_at_every_step(
    judge: Judge, dtype: torch.dtype, call: str
) -> None:
    load = "tl.load(x_ptr + at, mask=mask, other=0)"
    source = DOUBLE.replace(VALUES, call)
    source = source.replace("    tl.store", f"    x = {load}\n    tl.store")
    one = 2048 if dtype == torch.float16 else 256
    x = torch.tensor([one, 1, 0, 1], dtype=dtype)
    assert tensor(judge(source, x)).tolist() == [one] * 4


def test_products_with_float16_sums_are_rounded_at_every_step(judge: Judge) -> None:
    source = (
        HEAD
        + """
@triton.jit
def kernel(x_ptr, y_ptr, out_ptr):
    at = tl.arange(0, 64)[:, None] * 64 + tl.arange(0, 64)[None, :]
    x, y = tl.load(x_ptr + at), tl.load(y_ptr + at)
    tl.store(out_ptr + at, tl.dot(x, y, out_dtype=tl.float16))


def run(x, y):
    out = torch.empty_like(x)
    kernel[(1,)](x, y, out)
    return out
"""
    )
    x = torch.zeros((64, 64), dtype=torch.float16)
    x[:, 0], x[:, 16], x[:, 32] = 2048, 1, 1
    made = tensor(judge(source, x, torch.ones_like(x)))
    assert torch.equal(made, torch.full_like(made, 2048))


def of_elements(expression: str) -> str:
    """Returns a kernel that computes it of each element `x`."""
    load = "x = tl.load(x_ptr + at, mask=mask)"
    return DOUBLE.replace(VALUES, expression).replace("    tl.store", f"    {load}\n    tl.store")


@pytest.mark.parametrize(
    ("expression", "fused"),
    [
        ("x * x - SQUARE", 2.0**-24),
        ("SQUARE - x * x", -(2.0**-24)),
        ("x * x + (0 - x) * x", 2.0**-24),  # The first product is the exact one.
        ("tl.reshape((x * x)[:, None], (BLOCK,)) - SQUARE", 2.0**-24),
        ("(x * x + 0.0) - SQUARE", 0.0),
    ],
)
def test_a_product_is_not_rounded_before_it_is_added_to(
    judge: Judge, expression: str, fused: float
) -> None:
    x = torch.full((100,), 1 + 2.0**-12)
    source = of_elements(expression.replace("SQUARE", str(1 + 2.0**-11)))
    assert tensor(judge(source, x)).tolist() == [fused] * 100
    source = source.replace("BLOCK=64)", "BLOCK=64, enable_fp_fusion=False)")
    assert tensor(judge(source, x)).tolist() == [0.0] * 100


def test_exponentials_are_those_of_a_gpu(judge: Judge) -> None:
    x = torch.linspace(-80, 80, 100)
    made = tensor(judge(of_elements("tl.exp(x)"), x)).double()
    truth = (x * torch.tensor(1.4426950408889634)).double().exp2()
    assert (made / truth - 1).abs().max() < 2**-22
    assert (made / x.double().exp() - 1).abs().max() > 4e-7
    whole = torch.arange(-50.0, 50.0)
    assert torch.equal(tensor(judge(of_elements("tl.exp2(x)"), whole)), whole.exp2())


@pytest.mark.parametrize(
    ("source_type", "kind", "made"),
    [
        # Of nothing, -1.5, 3e4 + 0.5, 1e10, -1e10, infinity.
        ("float32", "int32", [0, -1, 30000, 2**31 - 1, -(2**31), 2**31 - 1]),
        ("float32", "int64", [-(2**63), -1, 30000, 10**10, -(10**10), 2**63 - 1]),
        ("float64", "int32", [-(2**31), -1, 30000, 2**31 - 1, -(2**31), 2**31 - 1]),
        ("float32", "int8", [0, -1, 30000 - 117 * 256, -1, 0, -1]),
        ("float32", "uint8", [0, 0, 30000 - 117 * 256, 255, 0, 255]),
        ("bfloat16", "int32", [0, -1, 29952, 2**31 - 1, -(2**31), 2**31 - 1]),
    ],
)
def test_numbers_become_integers_as_on_a_gpu(
    judge: Judge, source_type: str, kind: str, made: list[int]
) -> None:
    source = of_elements(f"x.to(tl.{kind})")
    source = source.replace("empty_like(x)", f"empty(x.shape, dtype=torch.{kind}, device=x.device)")
    values = [torch.nan, -1.5, 30000.5, 1e10, -1e10, torch.inf]
    x = torch.tensor(values, dtype=getattr(torch, source_type))
    assert tensor(judge(source, x)).tolist() == made


@pytest.mark.parametrize(
    ("call", "values", "place"),
    [
        ("tl.argmax(x, 0)", [1.0, 3, 3, 2], 1),
        ("tl.argmax(x, 0, tie_break_left=False)", [1.0, 3, 3, 2], 2),
        ("tl.argmin(x, 0, tie_break_left=False)", [1.0, 3, 1, 2], 2),
        ("tl.argmin(x, 0)", [torch.nan] * 4, 3),
        ("tl.argmax(x, 0)", [1.0, 2, torch.nan, torch.nan], 3),
    ],
)
def test_places_of_equal_numbers_and_of_none(
    judge: Judge, call: str, values: list[float], place: int
) -> None:
    """Any of equal ones may win if a kernel does not care; comparisons with NaN are false."""
    source = DOUBLE.replace(
        "    tl.store", "    x = tl.load(x_ptr + tl.arange(0, 4))\n    tl.store"
    )
    source = source.replace(VALUES, call)
    assert tensor(judge(source, torch.tensor(values))).tolist() == [place] * 4


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_a_largest_number_comes_with_its_place(judge: Judge, dtype: torch.dtype) -> None:
    """As a scalar, of rows, and with the axis kept."""
    source = (
        HEAD
        + """
@triton.jit
def kernel(x_ptr, top_ptr, place_ptr, N: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, N))
    top, place = tl.max(x, axis=0, return_indices=True)
    tl.store(top_ptr, top)
    tl.store(place_ptr, place)
    rows = tl.arange(0, 4)
    top, place = tl.max(tl.reshape(x, (4, N // 4)), axis=1, return_indices=True)
    tl.store(top_ptr + 1 + rows, top)
    tl.store(place_ptr + 1 + rows, place)
    top, place = tl.min(tl.reshape(x, (4, N // 4)), 1, return_indices=True, keep_dims=True)
    tl.store(top_ptr + 5 + rows[:, None], top)
    tl.store(place_ptr + 5 + rows[:, None], place)


def run(x):
    top = torch.empty(9, dtype=x.dtype, device="cuda")
    place = torch.empty(9, dtype=torch.int32, device="cuda")
    kernel[(1,)](x, top, place, N=x.numel())
    return top, place
"""
    )
    x = torch.randn(64, generator=torch.Generator().manual_seed(1)).to(dtype)
    rows = x.view(4, 16)
    wanted = [x.view(1, -1).max(1), rows.max(1), rows.min(1)]
    top, place = tensors(judge(source, x, outputs=("top", "place")))
    assert torch.equal(top, torch.cat([one.values for one in wanted]))
    assert place.tolist() == torch.cat([one.indices for one in wanted]).tolist()


@pytest.mark.parametrize(
    ("method", "truth"),
    [
        ("sum(0)", X[:64].sum()),
        ("max()", X[:64].max()),
        ("min(axis=0)", X[:64].min()),
        ("argmax(0)", torch.tensor(63)),
        ("cumsum()", X[:64].cumsum(0)),
        ("sigmoid()", X[:64].sigmoid()),
        ("reshape(8, 8).sum(axis=1, keep_dims=True).broadcast_to(8, 8).ravel()", None),
    ],
)
def test_functions_of_the_language_are_methods_of_tensors(
    judge: Judge, method: str, truth: torch.Tensor | None
) -> None:
    if truth is None:
        truth = X[:64].view(8, 8).sum(1, keepdim=True).expand(8, 8).reshape(64)
    source = DOUBLE.replace(VALUES, f"{VALUES[6:]}.{method}")
    assert torch.allclose(tensor(judge(source, X[:64])), truth.float(), rtol=1e-6)


def test_own_reductions_keep_the_order_of_what_they_join(judge: Judge) -> None:
    """An affine map composed with another is associative, and not commutative."""
    source = (
        HEAD
        + """
@triton.jit
def after(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def kernel(x_ptr, scan_ptr, last_ptr, back_ptr, N: tl.constexpr):
    at = tl.arange(0, 2)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    scale = tl.full((2, N), 0.5, tl.float32)
    tl.store(scan_ptr + at, tl.associative_scan((scale, x), 1, after)[1])
    tl.store(last_ptr + tl.arange(0, 2), tl.reduce((scale, x), 1, after)[1])
    tl.store(back_ptr + at, tl.associative_scan((scale, x), 1, after, reverse=True)[1])


def run(x):
    scan, back = torch.empty_like(x), torch.empty_like(x)
    last = torch.empty(2, device="cuda")
    kernel[(1,)](x, scan, last, back, N=x.shape[1])
    return scan, last, back
"""
    )
    x = torch.arange(64, dtype=torch.float32).view(2, 32) % 7

    def folded(values: torch.Tensor) -> torch.Tensor:
        columns = [values[:, 0]]
        for column in values.unbind(1)[1:]:
            columns.append(columns[-1] * 0.5 + column)
        return torch.stack(columns, 1)

    scan, last, back = tensors(judge(source, x, outputs=("scan", "last", "back")))
    assert torch.allclose(scan, folded(x))
    assert torch.allclose(last, folded(x)[:, -1])
    assert torch.allclose(back, folded(x.flip(1)).flip(1))


@pytest.mark.parametrize(
    ("kind", "dtype"), [("float8e4nv", torch.float8_e4m3fn), ("float8e5", torch.float8_e5m2)]
)
def test_8_bit_floats_are_rounded_to_nearest_and_cut_off(
    judge: Judge, kind: str, dtype: torch.dtype
) -> None:
    source = (
        HEAD
        + f"""
@triton.jit
def kernel(x_ptr, low_ptr, wide_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    low = tl.load(x_ptr + at).to(tl.{kind})
    tl.store(low_ptr + at, low)
    tl.store(wide_ptr + at, low.to(tl.float16))


def run(x):
    low = torch.empty(x.shape, dtype=torch.{str(dtype).removeprefix("torch.")}, device="cuda")
    wide = torch.empty(x.shape, dtype=torch.float16, device="cuda")
    kernel[(1,)](x, low, wide, N=x.numel())
    return low, wide
"""
    )
    most = torch.finfo(dtype).max
    x = torch.cat([torch.linspace(-1, 1, 500), torch.logspace(-20, 20, 520, base=2)])
    x = torch.cat([x, torch.tensor([0.0, 2 * most, -2 * most, torch.inf])])
    low, wide = tensors(judge(source, x, outputs=("low", "wide")))
    truth = x.clamp(-most, most).to(dtype)
    assert torch.equal(low.view(torch.uint8), truth.view(torch.uint8))
    assert torch.equal(wide.float(), truth.float())


def ones(width: int) -> torch.Tensor:
    """How many bits of X are set, as integers of this width."""
    return torch.tensor([(int(x) % 2**width).bit_count() for x in X], dtype=torch.float32)


LEADING = torch.tensor([32 - (int(x) % 2**32).bit_length() for x in X], dtype=torch.float32)

# The number of the lowest bit that is set, from 1.
LOWEST = torch.tensor([(int(x) & -int(x)).bit_length() for x in X], dtype=torch.float32)


@pytest.mark.parametrize(
    ("call", "truth"),
    [
        ("libdevice.div_rn(x, 3.0)", X / 3),
        ("libdevice.round(x * 0.5)", X.sign() * ((X.abs() + 1) // 2)),
        ("libdevice.rint(x * 0.5)", (X / 2).round()),
        ("libdevice.fma(x, x, 1.0)", X * X + 1),
        ("libdevice.atan2(x, 2.0)", torch.atan2(X, torch.tensor(2.0))),
        ("libdevice.erfc(x * 0.01)", torch.erfc(X * 0.01)),
        ("libdevice.isnan(x).to(tl.float32)", torch.zeros(100)),
        ("libdevice.round(x * 0 + 0.49999997)", torch.zeros(100)),
        ("libdevice.finitef(1 / x).to(tl.float32)", (X != 0).float()),
        ("libdevice.isfinited(1 / x.to(tl.float64)).to(tl.float32)", (X != 0).float()),
        ("libdevice.llrint(x * 0.5).to(tl.float32)", (X / 2).round()),
        ("libdevice.llround(x * 0.5).to(tl.float32)", X.sign() * ((X.abs() + 1) // 2)),
        ("libdevice.popc(x.to(tl.int32)).to(tl.float32)", ones(32)),
        ("libdevice.popc(x.to(tl.int64)).to(tl.float32)", ones(64)),
        ("libdevice.ffs(x.to(tl.int32)).to(tl.float32)", LOWEST),
        ("libdevice.ffs(x.to(tl.int64)).to(tl.float32)", LOWEST),
        ("(libdevice.float_as_int(x) >> 23).to(tl.float32)", (X.view(torch.int32) >> 23).float()),
        ("libdevice.int_as_float(x.to(tl.int32) * 0 + 0x40400000)", torch.full((100,), 3.0)),
        ("libdevice.float2int_rn(x * 0.5).to(tl.float32)", (X / 2).round()),
        ("libdevice.float2int_rz(x * 0.5).to(tl.float32)", (X / 2).trunc()),
        ("libdevice.float2int_ru(x * 0.5).to(tl.float32)", (X / 2).ceil()),
        ("libdevice.float2int_rd(x * 0.5).to(tl.float32)", (X / 2).floor()),
        ("libdevice.float2int_rn(x * 1e10).to(tl.float32)", X.sign() * 2.0**31),
        ("libdevice.float2int_rn(x * float('nan')).to(tl.float32)", torch.zeros(100)),
        ("libdevice.int2float_rn(x.to(tl.int32))", X),
        ("libdevice.scalbn(x, 3)", 8 * X),
        ("libdevice.mulhi(x.to(tl.int32), 1 << 30).to(tl.float32)", (X / 4).floor()),
        ("libdevice.mulhi(x.to(tl.int64), 1 << 62).to(tl.float32)", (X / 4).floor()),
        ("libdevice.clz(x.to(tl.int32)).to(tl.float32)", LEADING),
        ("libdevice.clz(x.to(tl.int64)).to(tl.float32)", LEADING + 32 * (X >= 0)),
        ("libdevice.clz(libdevice.brev(x.to(tl.int32))).to(tl.float32)", (LOWEST - 1) % 33),
        ("libdevice.fdim(x, 3.0)", (X - 3).clamp_min(0)),
        ("libdevice.erfinv(x * 0.01)", torch.erfinv(X / 100)),
        ("libdevice.tgamma(x * 0.1 + 5.55)", torch.lgamma(X / 10 + 5.55).exp()),
        ("libdevice.lgamma(x)", torch.lgamma(X)),
        ("libdevice.logb(x)", torch.log2(X.abs()).floor()),
        (
            "libdevice.sad(x.to(tl.int32), 3, (x * 0).to(tl.uint32)).to(tl.float32)",
            (X - 3).abs(),
        ),
        ("libdevice.sinpi(x * 0.25)", (X.double() * torch.pi / 4).sin().float()),
        ("libdevice.cospi(x * 0.25)", (X.double() * torch.pi / 4).cos().float()),
        ("libdevice.rcbrt(x)", X.double().abs().pow(-1 / 3).float() * (2 * (X >= 0) - 1)),
        ("libdevice.add_rn(x, libdevice.sub_rn(libdevice.mul_rn(x, 2.0), x))", 2 * X),
    ],
)
def test_functions_of_libdevice_give_what_torch_gives(
    judge: Judge, call: str, truth: torch.Tensor
) -> None:
    source = DOUBLE.replace(
        "import triton\n", "import triton\nfrom triton.language.extra import libdevice\n", 1
    ).replace("2.0 * tl.load(x_ptr + at, mask=mask)", "f(tl.load(x_ptr + at, mask=mask))")
    source = source.replace(
        "@triton.jit", f"@triton.jit\ndef f(x):\n    return {call}\n\n\n@triton.jit", 1
    )
    assert torch.allclose(tensor(judge(source)), truth, rtol=3e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("call", "exact"),
    [("fast_expf(x)", torch.exp), ("fast_exp10f(0.4 * x)", lambda x: 10 ** (0.4 * x)),
     ("fast_sinf(40 * x)", lambda x: (40 * x).sin()),
     ("fast_cosf(40 * x)", lambda x: (40 * x).cos())],
)  # fmt: skip
def test_fast_functions_round_as_they_do_on_a_gpu(
    judge: Judge, call: str, exact: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    source = DOUBLE.replace(
        "import triton\n", "import triton\nfrom triton.language.extra import libdevice\n", 1
    ).replace(VALUES, f"f({VALUES[6:]})")
    source = source.replace(
        "@triton.jit", f"@triton.jit\ndef f(x):\n    return libdevice.{call}\n\n\n@triton.jit", 1
    )
    truth = exact(X.double())
    error = ((tensor(judge(source)) - truth) / truth.abs().clamp_min(1e-30)).abs()
    if "exp" not in call:
        error *= truth.abs()
    # A product of 100 that is rounded to float32, and more than one of 1.
    assert 2e-7 < error.max() < 5e-4


@pytest.mark.parametrize(
    ("call", "truth"),
    [("max(x, 0.0)", X.clamp_min(0)), ("min(0.5 * x, x)", torch.minimum(X / 2, X)),
     ("max(1.0, x, 2.0 * x)", torch.maximum(2 * X, X).clamp_min(1)), ("x + max(1, 3)", X + 3)],
)  # fmt: skip
def test_max_and_min_go_element_by_element(judge: Judge, call: str, truth: torch.Tensor) -> None:
    source = DOUBLE.replace(VALUES, f"f({VALUES[6:]})").replace(
        "@triton.jit", f"@triton.jit\ndef f(x):\n    return {call}\n\n\n@triton.jit", 1
    )
    assert torch.equal(tensor(judge(source)), truth)


TABLES = {
    "tensor": ("", "table = torch.tensor([1.0, -3.0, 0.5, 8.0], device='cuda')"),
    "moved": ("TABLE = [1.0, -3.0, 0.5, 8.0]", "table = torch.tensor(TABLE).to('cuda')"),
    "at import": ("TABLE = torch.tensor([1.0, -3.0, 0.5, 8.0]).cuda()", "table = TABLE"),
    "a part": ("", "table = torch.tensor([7.0, 1.0, -3.0, 0.5, 8.0]).to(x.device)[1:]"),
    "turned": ("", "table = torch.tensor([[1, 0.5], [-3, 8]]).t().to(x.device).contiguous()"),
    "assigned": (
        "",
        "table = torch.empty(4, device=x.device); table[:] = torch.tensor([1, -3, 0.5, 8])",
    ),
    "a module": (
        "class M(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.register_buffer('table', torch.tensor([1.0, -3.0, 0.5, 8.0]))\n"
        "        self.unused = torch.nn.Linear(1000, 1000)",
        "table = M().cuda().table",
    ),
    "a parameter": (
        "",
        "table = torch.nn.Parameter(torch.tensor([1.0, -3.0, 0.5, 8.0])).to('cuda')",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLES)
def test_what_the_host_brings_to_the_device_is_part_of_the_plan(judge: Judge, name: str) -> None:
    around, made = TABLES[name]
    source = DOUBLE.replace("@triton.jit", f"{around}\n\n\n@triton.jit", 1)
    source = source.replace("def double(x_ptr,", "def double(table_ptr, x_ptr,")
    source = source.replace(VALUES, f"{VALUES} + tl.load(table_ptr + at % 4, mask=mask)")
    source = source.replace("    out = ", f"    {made}\n    out = ").replace("](x,", "](table, x,")
    table = torch.tensor([1.0, -3.0, 0.5, 8.0])
    assert torch.equal(tensor(judge(source)), 2 * X + table.repeat(25))


def test_a_plan_holds_little_of_the_host(judge: Judge) -> None:
    source = DOUBLE.replace("    out = ", "    x = torch.ones(300_000).cuda()\n    out = ")
    assert refusal(judge(source.replace("empty_like(x)", "empty(100, device=x.device)"))) == (
        "unsupported",
        "values of the host",
    )


def test_members_of_enumerations_are_numbers(judge: Judge) -> None:
    source = DOUBLE.replace("BLOCK: tl.constexpr", "BLOCK: tl.constexpr, HOW: tl.constexpr")
    source = source.replace(VALUES, f"{VALUES} + HOW").replace("BLOCK=64)", "BLOCK=64, HOW=How.UP)")
    how = "import enum\nimport torch\n\n\nclass How(enum.IntEnum):\n    UP = 3\n\n\n"
    assert torch.equal(tensor(judge(source.replace("import torch\n", how, 1))), 2 * X + 3)


def test_functions_of_libdevice_are_known_or_named(judge: Judge) -> None:
    head = "import triton\nfrom triton.language.extra import libdevice\n"
    source = DOUBLE.replace("import triton\n", head, 1)
    known = judge(source.replace(VALUES, f"libdevice.tanh({VALUES[6:]})"))
    assert torch.allclose(tensor(known), X.tanh())
    by_name = source.replace("import libdevice", "import libdevice\nfrom {0}.libdevice import tanh")
    by_name = by_name.format("triton.language.extra", "", "", "")
    assert torch.allclose(tensor(judge(by_name.replace(VALUES, f"tanh({VALUES[6:]})"))), X.tanh())
    unknown = judge(source.replace(VALUES, f"libdevice.j0({VALUES[6:]})"))
    assert refusal(unknown) == ("unsupported", "__nv_j0f")


def test_memory_of_the_host_may_be_pinned(judge: Judge) -> None:
    made = "torch.tensor([3.0] * 100, pin_memory=True).to(x.device, non_blocking=True)"
    made = f"{made}\n    w = torch.empty(100, pin_memory=True).pin_memory() if x is None else w"
    source = DOUBLE.replace("def run(x):\n", f"def run(x):\n    w = {made}\n")
    source = source.replace("64),)](x,", "64),)](w,")
    assert torch.equal(tensor(judge(source)), torch.full_like(X, 6))


MODULE = """
class Weight(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.full((100,), 3.0))
        self.register_buffer("b", torch.full((100,), 4.0))
"""


@pytest.mark.parametrize(
    ("moved", "inside", "value"),
    [
        ("Weight().cuda()", "w = m.w", 3),
        ("Weight().to('cuda')", "w = m.w.view(-1)", 3),
        ("Weight().to(device='cuda', dtype=torch.float32).eval()", "w = m.b", 4),
        ("Weight().cuda()", "m.w.data = x\n    w = m.w", None),
        ("Weight()", "x.data = x.clone()\n    w = x", None),
        ("Weight()", "m.w.data = x\n    w = m.w.data", None),
        ("Weight().cuda()", "m.w.copy_(x)\n    w = m.w", None),
        ("Weight().cuda()", "m.load_state_dict({'w': x, 'b': x})\n    w = m.w", None),
    ],
)
def test_modules_are_on_the_device(judge: Judge, moved: str, inside: str, value: Any) -> None:
    source = DOUBLE.replace(
        "def run(x):\n", f"{MODULE}\nm = {moved}\n\ndef run(x):\n    {inside}\n"
    )
    source = source.replace("64),)](x,", "64),)](w,")
    assert torch.equal(
        tensor(judge(source)), 2 * (X if value is None else torch.full_like(X, value))
    )


def test_a_function_for_constants_is_named(judge: Judge) -> None:
    function = "@triton.constexpr_function\ndef f(block):\n    return block // block\n\n\n"
    source = DOUBLE.replace("@triton.jit", f"{function}@triton.jit", 1)
    op = "f, which is a ConstexprFunction"
    assert refusal(judge(source.replace(VALUES, f"{VALUES} * f(BLOCK)"))) == ("unsupported", op)


def test_inline_assembly_is_named(judge: Judge) -> None:
    values = f"[{VALUES[6:]}]"
    assembly = (
        f"tl.inline_asm_elementwise('neg.f32 $0, $1;', '=f,f', {values}, tl.float32, True, 1)"
    )
    assert refusal(judge(DOUBLE.replace(VALUES, assembly))) == ("unsupported", "inline_asm")


NAMES = ("max", "min", "len", "range", "float", "int", "list", "print")


@pytest.mark.parametrize("name", NAMES)
def test_a_variable_may_be_called_like_a_function(judge: Judge, name: str) -> None:
    source = DOUBLE.replace(VALUES, name).replace(
        "    mask = at < count\n", f"    mask = at < count\n    {name} = {VALUES}\n"
    )
    assert torch.equal(tensor(judge(source)), 2 * X)
    assert torch.equal(tensor(judge(DOUBLE.replace("count", name))), 2 * X)
    with_a_list = DOUBLE.replace("2.0", f"([2 * {name} for {name} in (1, 2)][0])")
    assert torch.equal(tensor(judge(with_a_list)), 2 * X)


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        ("FACTOR = 1.0", ""),
        ("other = [FACTOR for FACTOR in (1, 2)][0] + [FACTOR for FACTOR in (3, 4)][0]", ""),
        ("other = [FACTOR for FACTOR in (1, 3)]\nat = at * FACTOR", "FACTOR"),
        ("FACTOR = 1\nother = [FACTOR for FACTOR in (1, 3)]", "FACTOR"),
        ("other = [x for x in ((1, 2),)]\nother = [x for x in x]", "x"),
        ("other = [([x for x in (1, 2)], x) for x in (3, 4)]", "x"),
        ("other = [max for max in (1, 2)]\nat = at * max(1, 1)", "max"),
        (
            "other = [interpreter_semantic for interpreter_semantic in (1, 2)]\n"
            "at = interpreter_semantic.cast(at, tl.int32)",
            "interpreter_semantic",
        ),
    ],
)
def test_a_variable_of_a_list_is_only_its_own(judge: Judge, lines: str, name: str) -> None:
    """Elsewhere the compiler finds what the list has left behind, and Python what was there."""

    def edit(sources: bytes) -> bytes:
        document = json.loads(sources)
        function = document["kernels"][0]["function"]
        function["globals"]["FACTOR"] = {"constexpr": 1}
        text = "".join(f"    {line}\n" for line in lines.splitlines())
        function["source"] = function["source"].replace("    mask = at", f"{text}    mask = at")
        return json.dumps(document).encode()

    result = judge(DOUBLE, edit=edit)
    if name:
        op = f"the variable {name} of a list and of its surroundings"
        assert refusal(result) == ("unsupported", op)
    else:
        assert torch.equal(tensor(result), 2 * X)


@pytest.mark.parametrize(
    ("lines", "factor"),
    [
        ("factor = 0\nfor i in range(1):\n    factor += (i - 5) % 3", -2),
        ("factor = 0\nfor i in tl.range(2, -1, step=-2):\n    factor += (i - 3) // 2", -1),
        ("for i in tl.static_range(1):\n    factor = (i - 1) // 2 + 0 * tl.arange(0, i + 1)", -1),
        ("a, b = -1, 2\nfactor = 2 + a // b", 2),
        ("a = ((-1, 3), 2)\nfactor = 2 + a[0][0] // a[1]", 2),
        ("factor = 2 + (a := -1) // 2", 2),
        ("W: tl.constexpr = -BLOCK // 64\nfactor = W // 2", -1),
        ("W: constant = BLOCK\nfactor = tl.sum(tl.arange(0, W)) // W", 31),
        ("W: tl.int32 = -1\nfactor = 2 + W // 2", 2),
        ("W: tl.int32\nW = -1\nfactor = 2 + W // 2", 2),
        ("factor = 2 + (-1 if count > 5 else 1) // 2", 2),
        ("factor = 2 + (-1 if BLOCK > 5 else 1) // 2", 1),
        ("factor = tl.where(at < 0 or at >= 0, 2.0, 3.0)", 2),
        ("factor = tl.where(at >= 0 and at < 0, 2.0, 3.0)", 3),
        ("factor = tl.where(-1 < at < 0, 2.0, 3.0)", 3),
        ("factor = tl.where(not (at < 0), 2.0, 3.0)", 2),
        ("factor = 2 if BLOCK > 5 and count > 5 else 3", 2),
        ("a = [at]\nfor i in tl.static_range(2):\n    a = a + [0 * at + i]\nfactor = 2 + a[2]", 3),
        ("a = (0 * at,)\na = [0 * at + 2] + a\nfactor = a[0]", 2),
        ("a = [at]\na += [0 * at + 2]\nfactor = a[1]", 2),
        ("factor = 2 if f'{THREE}' == '3' else 5", 2),
        ("factor = 2 if f'{BLOCK:5}' == '64' else 5", 2),
        ("factor = 2 if '%s' % THREE == '3' else 5", 2),
        ("factor = 2 if KIND is tl.float32 and THREE is not None else 5", 2),
        ("factor = THREE.value + BLOCK.value", 67),
        ("factor = interpreter_semantic", 3),
        ("factor = 2 + of_data(count) // 2", 2),
        ("factor = 2 + of_a_constant(3) // 2", 1),
        ("factor = 2 + of_a_constant(7) // 2", 2),
    ],
)  # fmt: skip
def test_a_text_means_what_it_means_to_the_compiler(
    judge: Judge, lines: str, factor: float
) -> None:
    """Numbers that are assigned or counted are of so many bits, and divided as in C."""
    around = """
from triton.language import constexpr as constant

THREE = interpreter_semantic = tl.constexpr(3)
KIND = tl.float32


@triton.jit
def of_data(x):
    if x > 5:
        return -1
    return 3


@triton.jit
def of_a_constant(x: tl.constexpr):
    if x > 5:
        return -1
    elif x > 2:
        return -2 + 1
    else:
        return 3


@triton.jit"""
    if "7" in lines:
        around = around.replace("    else:\n        return 3", "    return 3")
    text = "".join(f"    {line}\n" for line in lines.splitlines())
    source = DOUBLE.replace("@triton.jit", around.lstrip("\n"), 1)
    source = source.replace("    tl.store", f"{text}    tl.store").replace("2.0 *", "factor *")
    assert torch.equal(tensor(judge(source)), factor * X)


def test_an_argument_of_one_is_a_constant(judge: Judge) -> None:
    """The compiler takes it for one, unasked, and computes with it as Python does."""
    source = DOUBLE.replace("2.0 *", "((one - 2) // 2 + (pair[1] - 2) // 2) *")
    source = source.replace("count, BLOCK", "count, one, pair, BLOCK")
    source = source.replace("numel(), BLOCK", "numel(), 1, (x, 1), BLOCK")
    assert torch.equal(tensor(judge(source)), -2 * X)


def test_a_value_beside_a_type_is_said_twice(judge: Judge) -> None:
    source = DOUBLE.replace(
        "tl.store(out_ptr + at, 2.0 *", "old: tl.float32 = tl.atomic_add(out_ptr + at,"
    )
    assert torch.equal(tensor(judge(source.replace("empty_like", "zeros_like"))), 2 * X)


@pytest.mark.parametrize(
    ("lines", "op"),
    [
        ("W: tl.constexpr\nW = 3", "a constant that is declared before it is assigned"),
        ("for i in range(4, 0, -count):\n    at += i", "a loop with a step that is not positive"),
        ("at += 1 if (at, count) == (at, count) else 2", "a comparison of tuples of tensors"),
        ("at += 1 if (BLOCK > 0 and (W := BLOCK) > 0) else 2", "an assignment within a condition"),
        ("at += 1 if 1000 is BLOCK else 2", "a number that is asked for its identity"),
    ],
)  # fmt: skip
def test_what_python_cannot_say_is_not_interpreted(judge: Judge, lines: str, op: str) -> None:
    text = "".join(f"    {line}\n" for line in lines.splitlines())
    source = DOUBLE.replace("    mask = at", f"{text}    mask = at")
    assert refusal(judge(source)) == ("unsupported", op)


def test_a_text_is_not_read_in_the_place_of_a_library(judge: Judge) -> None:
    """Its file is called as Triton's, and it has a function in its comment where Triton has one."""
    import triton.language.standard as standard

    def edit(sources: bytes) -> bytes:
        document = json.loads(sources)
        function = document["kernels"][0]["function"]
        function["file"] = standard.__file__
        head, rest = function["source"].split("\n", 1)
        lines = "\n" * (standard.sigmoid.fn.__code__.co_firstlineno - 2)
        comment = f"    '''{lines}def sigmoid(x):\n    return x * 0 + 7\nend\n    '''"
        function["source"] = f"{head}\n{comment}\n{rest}"
        return json.dumps(document).encode()

    source = DOUBLE.replace(VALUES, f"tl.sigmoid({VALUES[6:]})")
    assert torch.allclose(tensor(judge(source, edit=edit)), X.sigmoid())


def test_functions_of_one_name_are_told_apart(judge: Judge) -> None:
    """Triton compiles the first of those that are called the same, and calls it twice."""
    around = """
def of_one(times):
    factor = tl.constexpr(times)

    @triton.jit
    def scaled(x):
        return x * factor

    return scaled


def of_another():
    @triton.jit
    def scaled(x):
        return x * 3

    return scaled


first, second = of_one(2), of_another()


@triton.jit"""
    source = DOUBLE.replace("@triton.jit", around.lstrip("\n"), 1)
    source = source.replace(VALUES, f"first({VALUES[6:]}) + second({VALUES[6:]})")
    assert torch.equal(tensor(judge(source)), 5 * X)
    confused = source.replace("of_another()\n\n\n@", "of_one(3)\n\n\n@")
    assert confused != source
    assert refusal(judge(confused)) == ("other_image", "double")


def test_functions_that_are_not_inlined_keep_their_names(judge: Judge) -> None:
    """Triton has scalars alone for them."""
    around = """
def of(times):
    factor = tl.constexpr(times)

    @triton.jit(noinline=True)
    def scaled(count):
        return count * factor

    return scaled


first, second = of(2), of(2)


@triton.jit"""
    source = DOUBLE.replace("@triton.jit", around.lstrip("\n"), 1)
    source = source.replace(VALUES, f"(first(count) + second(count)) * {VALUES[6:]} / count")
    assert torch.allclose(tensor(judge(source)), 4 * X)
    confused = source.replace("of(2), of(2)", "of(2), of(3)")
    assert refusal(judge(confused)) == ("other_image", "double")


def test_other_defaults_are_another_image(judge: Judge) -> None:
    """Two kernels of one plan, whose texts are the same."""
    around = (
        "def by(x, times: tl.constexpr = 2.0):\n    return x * times\n\n\n@triton.jit\ndef double"
    )
    source = DOUBLE.replace("def double", around).replace(VALUES, f"by({VALUES[6:]})")
    source = source.replace(
        "    return out", "    double[(1,)](x, out, x.numel(), BLOCK=64)\n    return out"
    )

    def edit(sources: bytes) -> bytes:
        document = json.loads(sources)
        (kernel,) = document["kernels"]
        other = json.loads(json.dumps(kernel))
        other["function"]["globals"]["by"]["function"]["defaults"]["times"] = 3.0
        return json.dumps({"kernels": [kernel, other], "launches": [0, 1]}).encode()

    assert torch.equal(tensor(judge(source)), 2 * X)
    for _ in range(4):  # Which of them is compiled first is drawn by lot.
        assert refusal(judge(source, edit=edit)) == ("other_image", "double")


@pytest.mark.parametrize(
    "line",
    ["nothing_of_the_kind(at)", "tl.math.nothing_of_the_kind(at)", "at = at.nothing_of_the_kind",
     "TABLE[0]", "helper(at)"],
)  # fmt: skip
def test_what_is_compiled_away_need_not_be_known(judge: Judge, line: str) -> None:
    source = DOUBLE.replace("    mask = at", f"    if BLOCK > 64:\n        {line}\n    mask = at")
    source = source.replace(
        "@triton.jit",
        "TABLE = {}\n\n\n@triton.jit\ndef helper(at):\n    return at.__class__\n\n\n@triton.jit",
        1,
    )
    assert torch.equal(tensor(judge(source)), 2 * X)


def test_functions_and_constants_of_other_modules_are_carried(judge: Judge) -> None:
    """As of `torch._inductor.runtime.triton_helpers`."""
    around = """
import types

helpers = types.ModuleType("helpers")


@triton.jit
def twice(x):
    return helpers.TWO * x


helpers.twice, helpers.TWO, helpers.other = twice, tl.constexpr(2), {}


@triton.jit"""
    source = DOUBLE.replace("@triton.jit", around.lstrip("\n"), 1)
    source = source.replace("2.0 * tl.load(x_ptr + at, mask=mask)", f"helpers.twice({VALUES[6:]})")
    assert torch.equal(tensor(judge(source)), 2 * X)
    other = judge(source.replace("    mask = at", "    at += len(helpers.other)\n    mask = at"))
    assert other["refusal"]["kind"] in ("unsupported", "compile_error")


def test_inner_functions_of_the_language_are_known(judge: Judge) -> None:
    source = DOUBLE.replace("2.0 *", "(_log2(BLOCK) - 4.0) *")
    head = "import triton\nfrom triton.language.standard import _log2\n"
    assert torch.equal(tensor(judge(source.replace("import triton\n", head, 1))), 2 * X)
    spelled = source.replace("_log2", "tl.standard._log2")
    assert torch.equal(tensor(judge(spelled)), 2 * X)


# What the compiler decides one way, and Python another.
@pytest.mark.parametrize(
    ("line", "op"),
    [
        ("at = at if isinstance(BLOCK, tl.constexpr) else 7", "the name isinstance"),
        ("at = at if hasattr(BLOCK, 'value') else 7", "the name hasattr"),
        ("at = at if not hasattr(tl, 'x') else tl.core.sys", "the name hasattr"),
        ("at = tl.core._unwrap_if_constexpr(at)", "triton.language.core._unwrap_if_constexpr"),
    ],
)
def test_a_kernel_cannot_ask_who_runs_it(judge: Judge, line: str, op: str) -> None:
    source = DOUBLE.replace("    mask = at", f"    {line}\n    mask = at")
    assert refusal(judge(source)) == ("unsupported", op)


@pytest.mark.parametrize(
    ("line", "op"),
    [
        ("import os", "the statement Import"),
        ("at = np", "the name np"),
        ("at = interpreter_builder", "the name interpreter_builder"),
        ("open('/etc/passwd')", "the name open"),
        ("at.handle.data", "the attribute handle"),
        ("tl.core.partial(at)", "triton.language.core.partial"),
        ("tl.sum.fn", "the attribute fn"),
        ("tl.float32 = tl.int32", "setting the attribute float32"),
        ("math = tl.math", "a module as a value"),
        ("(lambda: 0)()", "the statement Lambda"),
        ("float.__subclasses__()", "the attribute __subclasses__"),
        ("'{0.handle}'.format(at)", "the attribute format"),
        ("f'{at.handle}'", "the attribute handle"),
        ("__around_core = tl", "a variable that is called __around_core"),
        ("[one.handle for one in (at,)]", "the attribute handle"),
    ],
)
def test_a_text_that_no_compiler_takes_is_not_run(judge: Judge, line: str, op: str) -> None:
    """Whoever holds the tracing process can record any text."""

    def edit(sources: bytes) -> bytes:
        document = json.loads(sources)
        function = document["kernels"][0]["function"]
        function["source"] = function["source"].replace(
            "    mask = at", f"    {line}\n    mask = at"
        )
        return json.dumps(document).encode()

    assert refusal(judge(DOUBLE, edit=edit)) == ("unsupported", op)


def test_names_stand_for_parts_of_the_language_alone(judge: Judge) -> None:
    def pointing(found: Any) -> Callable[[bytes], bytes]:
        def edit(sources: bytes) -> bytes:
            document = json.loads(sources)
            document["kernels"][0]["function"]["globals"]["tl"] = found
            return json.dumps(document).encode()

        return edit

    for found, op in (
        ({"module": "os"}, "the module os"),
        ({"module": "triton.runtime"}, "the module triton.runtime"),
        ({"module": "triton.language.core", "name": "sys"}, "triton.language.core.sys"),
        ({"unknown": "a Secret"}, "a Secret"),
        ({"unheard": 1}, "a value of no known kind"),
    ):
        assert refusal(judge(DOUBLE, edit=pointing(found))) == ("unsupported", op)


def test_sources_have_to_be_those_of_the_plan(judge: Judge) -> None:
    other = judge(DOUBLE, edit=lambda sources: sources.replace(b"2.0 *", b"3.0 *"))
    assert refusal(other) == ("other_image", "double")
    assert refusal(judge(DOUBLE, edit=lambda _: b""))[0] == "unsupported"
    for broken in (
        b"{",
        b"[]",
        b'{"kernels":[],"launches":[]}',
        b'{"kernels":[{}],"launches":[0]}',
    ):
        assert refusal(judge(DOUBLE, edit=lambda _, broken=broken: broken))[0] == "exception"


OPTIONS = ["num_warps=8", "num_stages=1", "maxnreg=64", "debug=True"]
OPTIONS += ["enable_fp_fusion=True", "enable_fp_fusion=False"]


@pytest.mark.parametrize("option", OPTIONS)
def test_what_a_launch_asks_of_the_compiler_is_asked_again(judge: Judge, option: str) -> None:
    # A product and a sum, which fusion makes one instruction of.
    source = DOUBLE.replace("2.0 * tl.load(x_ptr + at, mask=mask)", f"{VALUES} + 1.0")
    source = source.replace("BLOCK=64)", f"BLOCK=64, {option})")
    assert torch.equal(tensor(judge(source)), 2 * X + 1)


def test_a_map_that_rounds_to_tf32_does_so(judge: Judge) -> None:
    source = (
        HEAD
        + """
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def copy(source, target):
    target.store([0, 0], source.load([0, 0]))


def run(x):
    out = torch.empty_like(x)
    rounding = TensorDescriptor.from_tensor(x, [4, 16], round_f32_to_tf32=True)
    copy[(1,)](rounding, TensorDescriptor.from_tensor(out, [4, 16]))
    return out
"""
    )
    made = tensor(judge(source, torch.full((4, 16), 1 + 2.0**-12)))
    assert torch.equal(made, torch.ones(4, 16))


def test_specialised_warps_are_more_than_were_asked_for(judge: Judge) -> None:
    source = (
        HEAD
        + """
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def product(a, b, out, depth):
    total = tl.zeros((64, 32), tl.float32)
    for k in tl.range(0, depth, 32, warp_specialize=True):
        total = tl.dot(a.load([0, k]), b.load([k, 0]), total)
    out.store([0, 0], total.to(tl.float16))


def run(a, b):
    out = torch.empty((64, 32), dtype=a.dtype, device=a.device)
    maps = [TensorDescriptor.from_tensor(x, block)
            for x, block in ((a, [64, 32]), (b, [32, 32]), (out, [64, 32]))]
    product[(1,)](*maps, a.shape[1])
    return out
"""
    )
    a, b = torch.eye(64, dtype=torch.float16), torch.arange(2048).view(64, 32).to(torch.float16)
    assert torch.equal(tensor(judge(source, a, b)), b)


def test_other_names_of_lines_are_the_same_image(judge: Judge) -> None:
    assert torch.equal(tensor(judge("\n" * 7 + DOUBLE, name="another")), 2 * X)


def test_the_process_is_left_as_it_was() -> None:
    import triton
    import triton.language as tl
    from ouroboros.trace.interpreter.kernels import interpreted
    from ouroboros.trace.interpreter.memory import Buffers

    before = (tl.sum, tl.load, tl.reduce, tl.tensor.sum, torch.cuda.is_available)
    with interpreted(Buffers([], [], [])):
        assert tl.sum is not before[0]
    assert before == (tl.sum, tl.load, tl.reduce, tl.tensor.sum, torch.cuda.is_available)
    assert triton.knobs.runtime.interpret is False


LAUNCH = """

def run(x):
    out, kept = torch.empty_like(x), torch.zeros(4096, dtype=torch.int32, device="cuda")
    kernel[(25,)](x, out, kept)
    return out
"""


def programs(body: str) -> str:
    """A kernel of 25 programs, which have four numbers each."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    return f"""{HEAD}
@triton.jit
def kernel(x_ptr, out_ptr, kept_ptr):
    pid = tl.program_id(0)
    at = 4 * pid + tl.arange(0, 4)
    x = tl.load(x_ptr + at)
{lines}
{LAUNCH}"""


def test_programs_run_in_any_order(judge: Judge) -> None:
    ticket = "t = tl.atomic_add(kept_ptr, 1)\ntl.store(out_ptr + at, tl.where(t == pid, 2 * x, x))"
    (out,) = tensors(judge(programs(ticket)))
    assert 0 < (out == 2 * X).sum() < 25, "who comes first is not program 0"
    (again,) = tensors(judge(programs(ticket)))
    assert torch.equal(out, again), "the order follows from the inputs"
    (other,) = tensors(judge(programs(ticket), X + 1))
    assert not torch.equal(out == 2 * X, other == 2 * (X + 1))


@pytest.mark.parametrize(
    "body",
    [
        # Beyond its own part, for the next program to mend.
        "tl.store(out_ptr + tl.minimum(at + 2, 99), x)\ntl.store(out_ptr + at, 2 * x)",
        # What the program before wrote.
        "tl.store(out_ptr + at, 2 * x)\n"
        "for i in range(25):\n    x += tl.load(out_ptr + 4 * i + tl.arange(0, 4))\n"
        "tl.store(out_ptr + at, x)",
        # A sum in memory, of parts that nobody adds atomically.
        "tl.store(kept_ptr, tl.load(kept_ptr) + 1)\ntl.store(out_ptr + at, 2 * x)",
        # What is atomic tells nothing to who does not look at it.
        "tl.atomic_add(kept_ptr + 1, 1)\n"
        "tl.store(kept_ptr, tl.load(kept_ptr) + 1)\ntl.store(out_ptr + at, 2 * x)",
    ],
)
def test_what_others_of_a_launch_wrote_is_a_race(judge: Judge, body: str) -> None:
    assert refusal(judge(programs(body))) in [("race", "load"), ("race", "store")]


@pytest.mark.parametrize(
    "body",
    [
        # What is there already.
        "tl.store(kept_ptr, 7)\ntl.store(out_ptr + at, 2 * x)",
        "tl.store(out_ptr + tl.arange(0, 2), 0.0)\ntl.store(out_ptr + at, 2 * x, mask=at > 1)",
        "tl.atomic_add(kept_ptr, 1)\ntl.store(out_ptr + at, 2 * x)",
        # Who comes last knows what all others wrote.
        "tl.store(kept_ptr + 1 + pid, pid)\n"
        "if tl.atomic_add(kept_ptr, 1) == 24:\n"
        "    tl.store(out_ptr, tl.sum(tl.load(kept_ptr + 1 + tl.arange(0, 32))))\n"
        "else:\n    tl.store(out_ptr, 300)\n"
        "tl.store(out_ptr + at, 2 * x)",
        # Each waits for the one before it.
        "while tl.atomic_add(kept_ptr, 0) != pid:\n    pass\n"
        "seen = tl.load(kept_ptr + pid)\n"
        "tl.store(kept_ptr + pid + 1, seen * 0)\n"
        "tl.store(out_ptr + at, 2 * x)\ntl.atomic_add(kept_ptr, 1)",
    ],
)
def test_what_was_made_known_is_none(judge: Judge, body: str) -> None:
    (out,) = tensors(judge(programs(body)))
    assert torch.equal(out[4:], 2 * X[4:])


def test_who_could_wait_and_does_not_has_no_order(judge: Judge) -> None:
    body = (
        "t = tl.atomic_add(kept_ptr, 0)\n"
        "while t < 0:\n    t = tl.atomic_add(kept_ptr, 0)\n"
        "before = tl.load(kept_ptr + 1 + pid)\n"
        "tl.store(kept_ptr + 2 + pid, before + 1)\n"
        "tl.store(out_ptr + at, 2 * x * (before == pid))"
    )
    (out,) = tensors(judge(programs(body)))
    assert (out != 2 * X).sum() > 50
