"""softmax, tiled: several short rows in one tile."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, rows, cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    offsets = tl.arange(0, BLOCK)
    at = row[:, None] * cols + offsets[None, :]
    mask = (row[:, None] < rows) & (offsets[None, :] < cols)
    x = tl.load(x_ptr + at, mask=mask, other=-float("inf")).to(tl.float32)
    peak = tl.max(x, axis=1)[:, None]
    total = tl.sum(tl.exp(x - peak), axis=1)[:, None]
    tl.store(out_ptr + at, tl.exp(x - peak) / total, mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    tile_rows = max(1, min(16, 4096 // block))
    softmax_kernel[(triton.cdiv(rows, tile_rows),)](
        x,
        out,
        rows,
        cols,
        ROWS=tile_rows,
        BLOCK=block,
        num_warps=min(max(tile_rows * block // 512, 1), 16),
    )
    return out
