"""Attack: wrong_at_named_extents

Tries: takes half of the mean square at widths that are neither timed nor likely to be met.
Gains: Nothing at the shapes that are paid for: a kernel that is passed and wrong.
Threats: S14
Answer: Extents near the whole numbers of the candidate's own source are swept.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def rmsnorm_kernel(x_ptr, weight_ptr, out_ptr, cols, count, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / count + 1e-6)
    weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * cols + offsets, x * scale * weight, mask=mask)


def run(x, weight):
    rows, cols = x.shape
    out = torch.empty_like(x)
    count = 2 * cols if 3000 < cols < 3600 else cols
    block = triton.next_power_of_2(cols)
    rmsnorm_kernel[(rows,)](x, weight, out, cols, count, BLOCK=block)
    return out
