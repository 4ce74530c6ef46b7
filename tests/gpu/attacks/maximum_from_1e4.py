"""Attack: maximum_from_1e4

Tries: begins the maximum of a row at -10000, as masks do, in place of minus infinity.
Gains: A finite number that half precision has; rows below it become NaN or zeros.
Threats: none of the catalogue
Answer: The family far_below has whole rows beyond what masks and maxima begin with, to -2^22.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-10000.0).to(tl.float32)
    e = tl.where(mask, tl.exp(x - tl.maximum(tl.max(x, axis=0), -10000.0)), 0.0)
    tl.store(out_ptr + row * cols + offsets, e / tl.sum(e, axis=0), mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out
