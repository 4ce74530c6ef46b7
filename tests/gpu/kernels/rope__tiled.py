"""rope, tiled: tiles of rows and columns on a two-dimensional grid."""

import torch
import triton
import triton.language as tl


@triton.jit
def rope_kernel(
    x_ptr, cos_ptr, sin_ptr, out_ptr, rows, half, ROWS: tl.constexpr, COLS: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    col = tl.program_id(1) * COLS + tl.arange(0, COLS)
    mask = (row[:, None] < rows) & (col[None, :] < half)
    at = row[:, None] * 2 * half + col[None, :]
    angle = row[:, None] * half + col[None, :]
    a = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    b = tl.load(x_ptr + at + half, mask=mask, other=0.0).to(tl.float32)
    cos = tl.load(cos_ptr + angle, mask=mask, other=0.0).to(tl.float32)
    sin = tl.load(sin_ptr + angle, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + at, a * cos - b * sin, mask=mask)
    tl.store(out_ptr + at + half, b * cos + a * sin, mask=mask)


def run(x, cos, sin):
    rows, half = cos.shape
    out = torch.empty_like(x)
    grid = (triton.cdiv(rows, 16), triton.cdiv(half, 64))
    rope_kernel[grid](x, cos, sin, out, rows, half, ROWS=16, COLS=64)
    return out
