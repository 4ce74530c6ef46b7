"""column_sum, moved: atomics into a strip of a padded float32 tensor, which the host rounds."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_rows(x_ptr, total_ptr, rows, cols, stride, ROWS: tl.constexpr, COLS: tl.constexpr):
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    mask = (row[:, None] < rows) & (col[None, :] < cols)
    x = tl.load(x_ptr + row[:, None] * cols + col[None, :], mask=mask, other=0.0)
    tl.atomic_add(total_ptr + col * stride, tl.sum(x.to(tl.float32), axis=0), mask=col < cols)


def run(x):
    rows, cols = x.shape
    totals = torch.empty((cols, 4), device=x.device, dtype=torch.float32)
    totals[:, 1] = 0
    total = totals[:, 1]
    add_rows[(triton.cdiv(cols, 128), triton.cdiv(rows, 16))](
        x, total, rows, cols, total.stride(0), ROWS=16, COLS=128
    )
    out = torch.empty(cols, device=x.device, dtype=x.dtype)
    out.copy_(total)
    return out
