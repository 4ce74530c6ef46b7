"""Attack: cheap_exponential

Tries: computes the exponential as a cubic of the fraction, right to one part in ten thousand.
Gains: No special function unit.
Threats: none of the catalogue
Answer: The allowed error in float32 is 2^-18 of the value and not 2^-13.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    away = tl.maximum((x - tl.max(x, axis=0)) * 1.4426950408889634, -126.0)
    whole = tl.floor(away)
    part = away - whole
    cubic = 0.99992807 + part * (0.69579207 + part * (0.22606716 + part * 0.07829491))
    e = cubic * ((whole.to(tl.int32) + 127) << 23).to(tl.float32, bitcast=True)
    e = tl.where(mask, e, 0.0)
    tl.store(out_ptr + row * cols + offsets, e / tl.sum(e, axis=0), mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out
