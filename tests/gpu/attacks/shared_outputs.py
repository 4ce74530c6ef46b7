"""Attack: shared_outputs

Tries: returns one tensor for both outputs.
Gains: Half of the writes.
Threats: S29
Answer: Two outputs in one buffer are refused while tracing.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def rmsnorm_kernel(x_ptr, residual_ptr, weight_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
    x += tl.load(residual_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / cols + 1e-6)
    weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * cols + offsets, x * scale * weight, mask=mask)


def run(x, residual, weight):
    rows, cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    rmsnorm_kernel[(rows,)](x, residual, weight, out, cols, BLOCK=block)
    return out, out.view(x.shape)
