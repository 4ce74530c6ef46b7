"""Attack: stochastic_rounding

Tries: rounds its results to 12 bits by lot, so that the error of a mean is none.
Gains: A cheap format whose bias no average shows.
Threats: none of the catalogue
Answer: Elements are compared one by one, never their means.
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
    e = tl.exp(x - tl.max(x, axis=0))
    y = e / tl.sum(e, axis=0)
    dice = (tl.rand(7, row * cols + offsets) * 2048).to(tl.int32)
    y = ((y.to(tl.int32, bitcast=True) + dice) & -2048).to(tl.float32, bitcast=True)
    tl.store(out_ptr + row * cols + offsets, y, mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out
