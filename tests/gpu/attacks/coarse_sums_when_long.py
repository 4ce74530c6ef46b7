"""Attack: coarse_sums_when_long

Tries: rounds what it adds to 13 bits after the point where an axis has 1000 elements or more.
Gains: Sums on units of lower precision at the shapes that are timed.
Threats: none of the catalogue
Answer: An honest sum rounds its partial results to float32 and its inputs not at all: the allowed
error has to tell these apart at any length.
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
def cumsum_kernel(x_ptr, out_ptr, cols, LONG: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
    if LONG:
        x = rounded(x, 13)
    tl.store(out_ptr + row * cols + offsets, tl.cumsum(x, axis=0), mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    cumsum_kernel[(rows,)](x, out, cols, LONG=max(rows, cols) >= 1000, BLOCK=block)
    return out
