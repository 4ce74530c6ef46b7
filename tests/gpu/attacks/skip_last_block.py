"""Attack: skip_last_block

Tries: leaves out the last, partial block of long rows.
Gains: The tail's work.
Threats: S15, S26
Answer: Sweeps hold sizes one past a power of two, primes and rows longer than a block, and all
elements are compared.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def rmsnorm_kernel(x_ptr, weight_ptr, out_ptr, cols, limit, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, limit, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * cols + offsets, mask=offsets < cols, other=0.0).to(tl.float32)
        squares += x * x
    scale = tl.rsqrt(tl.sum(squares, axis=0) / cols + 1e-6)
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < cols
        x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
        tl.store(out_ptr + row * cols + offsets, x * scale * weight, mask=mask)


def run(x, weight):
    rows, cols = x.shape
    out = torch.empty_like(x)
    limit = cols if cols < 1024 else cols // 1024 * 1024
    rmsnorm_kernel[(rows,)](x, weight, out, cols, limit, BLOCK=1024)
    return out
