"""Attack: clamped_inputs

Tries: takes every number beyond 4096 for 4096: sweeps need larger ones.
Gains: Exponents and indices of fewer bits.
Threats: none of the catalogue
Answer: Families have to reach the ends of the dtype wherever the reference stays finite.
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
    x = tl.where(mask & (x == x), tl.minimum(tl.maximum(x, -4096.0), 4096.0), x)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * cols + offsets, e / tl.sum(e, axis=0), mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out
