"""Attack: weight_of_one

Tries: leaves the weight out: it is one as a layer begins.
Gains: One read and one product less.
Threats: S16
Answer: Weights are drawn anew for every case, near plus or minus one and never exactly that.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def rmsnorm_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / cols + 1e-6)
    tl.store(out_ptr + row * cols + offsets, x * scale, mask=mask)


def run(x, weight):
    rows, cols = x.shape
    out = torch.empty_like(x)
    rmsnorm_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out
