"""rope, autotuned: tiles whose shape is chosen by measuring."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"ROWS": 4, "COLS": 64}, num_warps=2),
        triton.Config({"ROWS": 16, "COLS": 64}, num_warps=4),
        triton.Config({"ROWS": 8, "COLS": 128}, num_warps=4),
        triton.Config({"ROWS": 1, "COLS": 1024}, num_warps=4),
    ],
    key=["half"],
)
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

    def grid(meta):
        return (triton.cdiv(rows, meta["ROWS"]), triton.cdiv(half, meta["COLS"]))

    rope_kernel[grid](x, cos, sin, out, rows, half)
    return out
