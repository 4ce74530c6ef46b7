"""column_sum, tiled: a block of columns a program, over all rows."""

import torch
import triton
import triton.language as tl


@triton.jit
def sum_kernel(x_ptr, out_ptr, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    total = tl.zeros([ROWS, COLS], dtype=tl.float32)
    for start in range(0, rows, ROWS):
        row = start + tl.arange(0, ROWS)
        mask = (row[:, None] < rows) & (col[None, :] < cols)
        total += tl.load(x_ptr + row[:, None] * cols + col[None, :], mask=mask, other=0.0)
    tl.store(out_ptr + col, tl.sum(total, axis=0), mask=col < cols)


def run(x):
    rows, cols = x.shape
    out = torch.empty(cols, dtype=x.dtype, device=x.device)
    sum_kernel[(triton.cdiv(cols, 64),)](x, out, rows, cols, ROWS=32, COLS=64)
    return out
