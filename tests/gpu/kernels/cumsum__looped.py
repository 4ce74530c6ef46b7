"""cumsum, looped: one program a row, block by block."""

import torch
import triton
import triton.language as tl


@triton.jit
def cumsum_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    carry = tl.zeros([1], tl.float32)
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < cols
        x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
        tl.store(out_ptr + row * cols + offsets, carry + tl.cumsum(x, axis=0), mask=mask)
        carry += tl.sum(x, axis=0)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    cumsum_kernel[(rows,)](x, out, cols, BLOCK=1024)
    return out
