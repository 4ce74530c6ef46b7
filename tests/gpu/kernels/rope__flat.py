"""rope, flat: one program a block of angles, rows and columns by division."""

import torch
import triton
import triton.language as tl


@triton.jit
def rope_kernel(x_ptr, cos_ptr, sin_ptr, out_ptr, half, angles, BLOCK: tl.constexpr):
    angle = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = angle < angles
    at = angle + angle // half * half
    a = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(x_ptr + at + half, mask=mask, other=0.0).to(tl.float32)
    cos = tl.load(cos_ptr + angle, mask=mask, other=0.0).to(tl.float32)
    sin = tl.load(sin_ptr + angle, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + at, a * cos - b * sin, mask=mask)
    tl.store(out_ptr + at + half, b * cos + a * sin, mask=mask)


def run(x, cos, sin):
    rows, half = cos.shape
    out = torch.empty_like(x)
    angles = rows * half
    rope_kernel[(triton.cdiv(angles, 512),)](x, cos, sin, out, half, angles, BLOCK=512)
    return out
