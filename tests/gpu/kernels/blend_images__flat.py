"""blend_images, flat: sums in int32, bytes at both ends."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n).to(tl.int32)
    y = tl.load(y_ptr + at, mask=at < n).to(tl.int32)
    tl.store(out_ptr + at, ((x + y + 1) >> 1).to(tl.uint8), mask=at < n)


def run(x, y):
    out = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 1024),)](x, y, out, x.numel(), BLOCK=1024)
    return out
