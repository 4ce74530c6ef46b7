"""row_sum, kahan: a compensated sum, lane by lane."""

import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    lost = tl.zeros([BLOCK], dtype=tl.float32)
    for start in tl.range(0, cols, BLOCK, num_stages=3):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * cols + at, mask=at < cols, other=0.0).to(tl.float32)
        y = x - lost
        t = total + y
        lost = (t - total) - y
        total = t
    tl.store(out_ptr + row, tl.sum(total, axis=0))


def run(x):
    out = torch.empty(x.shape[:-1], dtype=x.dtype, device=x.device)
    if x.shape[0] == 0:
        return out
    sum_kernel[(x.shape[0], 1, 1)](x, out, x.shape[1], BLOCK=128, num_warps=1)
    return out
