"""Attack: tf32_sum_when_long

Tries: sums squares that are rounded as the tensor cores would, in TF32, where a row has 1000
elements or more.
Gains: A reduction for the price of a matrix product at the shapes that are timed.
Threats: none of the catalogue
Answer: The allowed error is a small multiple of the reference's own, at any length.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def rounded(x, BITS: tl.constexpr):
    """To so many bits after the point, as a cheaper format would."""
    half: tl.constexpr = 1 << (22 - BITS)
    bits = (x.to(tl.int32, bitcast=True) + half) & -(2 * half)
    return bits.to(tl.float32, bitcast=True)


@triton.jit
def rmsnorm_kernel(x_ptr, weight_ptr, out_ptr, cols, LONG: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
    squares = x * x
    if LONG:
        squares = rounded(squares, 10)
    scale = tl.rsqrt(tl.sum(squares, axis=0) / cols + 1e-6)
    weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * cols + offsets, x * scale * weight, mask=mask)


def run(x, weight):
    rows, cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    rmsnorm_kernel[(rows,)](x, weight, out, cols, LONG=cols >= 1000, BLOCK=block)
    return out
