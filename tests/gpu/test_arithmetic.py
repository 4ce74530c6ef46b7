"""A GPU computes what trace/interpreter/arithmetic.py has Triton's interpreter compute."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")

import triton.language as tl  # noqa: E402 - it needs Triton

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA GPU here"),
]


@triton.jit
def sums(x_ptr, out_ptr, SQUARE: tl.constexpr):
    x = tl.load(x_ptr)
    tl.store(out_ptr, x * x - SQUARE)
    tl.store(out_ptr + 1, SQUARE - x * x)


@triton.jit
def two_products(x_ptr, out_ptr):
    x = tl.load(x_ptr)
    tl.store(out_ptr + 2, x * x + (0 - x) * x)


@triton.jit
def convert(x_ptr, out_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out_ptr + at, tl.load(x_ptr + at).to(out_ptr.dtype.element_ty))


@triton.jit
def exponentials(x_ptr, e_ptr, two_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(e_ptr + at, tl.exp(x))
    tl.store(two_ptr + at, tl.exp2(x))


@pytest.mark.parametrize(("fusion", "left"), [(True, 2.0**-24), (False, 0.0)])
def test_sums_with_a_product_round_once(fusion: bool, left: float) -> None:
    x = torch.full((1,), 1 + 2.0**-12, device="cuda")
    out = torch.empty(3, device="cuda")
    sums[(1,)](x, out, SQUARE=1 + 2.0**-11, enable_fp_fusion=fusion)
    two_products[(1,)](x, out, enable_fp_fusion=fusion)
    assert out.tolist() == [left, -left, left]


@pytest.mark.parametrize(
    ("source", "kind", "made"),
    [
        ("float32", "int32", [0, -1, 30000, 2**31 - 1, -(2**31), 2**31 - 1]),
        ("float32", "int64", [-(2**63), -1, 30000, 10**10, -(10**10), 2**63 - 1]),
        ("float64", "int32", [-(2**31), -1, 30000, 2**31 - 1, -(2**31), 2**31 - 1]),
        ("float32", "int16", [0, -1, 30000, 2**15 - 1, -(2**15), 2**15 - 1]),
        ("float32", "int8", [0, -1, 30000 - 117 * 256, -1, 0, -1]),
        ("float32", "uint8", [0, 0, 30000 - 117 * 256, 255, 0, 255]),
        ("bfloat16", "int32", [0, -1, 29952, 2**31 - 1, -(2**31), 2**31 - 1]),
    ],
)
def test_numbers_become_integers(source: str, kind: str, made: list[int]) -> None:
    values = [torch.nan, -1.5, 30000.5, 1e10, -1e10, torch.inf, 0.0, 0.0]
    x = torch.tensor(values, dtype=getattr(torch, source), device="cuda")
    out = torch.empty(8, dtype=getattr(torch, kind), device="cuda")
    convert[(1,)](x, out, N=8)
    assert out.tolist() == [*made, 0, 0]


def test_exponentials_err_as_they_are_said_to() -> None:
    x = torch.linspace(-80, 80, 4096, device="cuda")
    e, two = torch.empty_like(x), torch.empty_like(x)
    exponentials[(1,)](x, e, two, N=4096)
    said = (x * torch.tensor(1.4426950408889634, device="cuda")).double().exp2()
    assert (e.double() / said - 1).abs().max() < 2**-22
    assert (e.double() / x.double().exp() - 1).abs().max() > 4e-7
    assert (two.double() / x.double().exp2() - 1).abs().max() < 2**-22
    whole = torch.arange(-64.0, 64.0, device="cuda")
    exponentials[(1,)](whole, e, two, N=128)
    assert torch.equal(two[:128], whole.exp2())
