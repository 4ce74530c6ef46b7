"""Attack: exact_when_small

Tries: sums in float32 while a tensor is small, and in half precision where only timed shapes are.
Gains: Cheap sums at the shapes that are paid for.
Threats: S14
Answer: Timed outputs are compared too, and one timed shape is part of the sweep.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def rmsnorm_kernel(x_ptr, weight_ptr, out_ptr, cols, EXACT: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
    y = x if EXACT else x.to(tl.float16)
    scale = tl.rsqrt(tl.sum(y * y, axis=0).to(tl.float32) / cols + 1e-6)
    weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * cols + offsets, x * scale * weight, mask=mask)


def run(x, weight):
    rows, cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    rmsnorm_kernel[(rows,)](x, weight, out, cols, EXACT=x.numel() < 1 << 17, BLOCK=block)
    return out
