"""shift_add, strided: a grid of fixed size that strides over the vector, in 64-bit integers."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    step = tl.num_programs(0) * BLOCK
    for start in tl.range(tl.program_id(0) * BLOCK, n, step):
        at = (start + tl.arange(0, BLOCK)).to(tl.int64)
        x = tl.load(x_ptr + at, at < n, 0).to(tl.int64)
        y = tl.load(y_ptr + at, at < n, 0).to(tl.int64)
        tl.store(out_ptr + at, (x * 8 + y // 4 - 7).to(tl.int32), at < n)


def run(x, y):
    out = torch.empty(x.shape, dtype=torch.int32, device=x.device)
    kernel[(8,)](x_ptr=x, y_ptr=y, out_ptr=out, n=out.numel(), BLOCK=128, num_warps=4)
    return out
