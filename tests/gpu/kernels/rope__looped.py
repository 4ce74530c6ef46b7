"""rope, looped: one program a row, block by block."""

import torch
import triton
import triton.language as tl


@triton.jit
def rope_kernel(x_ptr, cos_ptr, sin_ptr, out_ptr, half, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    for start in range(0, half, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < half
        a = tl.load(x_ptr + row * 2 * half + offsets, mask=mask, other=0.0).to(tl.float32)
        b = tl.load(x_ptr + row * 2 * half + offsets + half, mask=mask, other=0.0).to(tl.float32)
        cos = tl.load(cos_ptr + row * half + offsets, mask=mask, other=0.0).to(tl.float32)
        sin = tl.load(sin_ptr + row * half + offsets, mask=mask, other=0.0).to(tl.float32)
        tl.store(out_ptr + row * 2 * half + offsets, a * cos - b * sin, mask=mask)
        tl.store(out_ptr + row * 2 * half + offsets + half, b * cos + a * sin, mask=mask)


def run(x, cos, sin):
    rows, half = cos.shape
    out = torch.empty_like(x)
    rope_kernel[(rows,)](x, cos, sin, out, half, BLOCK=512)
    return out
