"""cumsum, moved: a scan down the columns of a transposed copy, whose result is transposed back."""

import torch
import triton
import triton.language as tl


@triton.jit
def scan_columns(xt_ptr, out_ptr, rows, cols, ROWS: tl.constexpr, STEP: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    sums = tl.zeros([ROWS], dtype=tl.float32)
    for start in range(0, cols, STEP):
        offsets = start + tl.arange(0, STEP)
        at = offsets[:, None].to(tl.int64) * rows + row[None, :]
        mask = (offsets[:, None] < cols) & (row[None, :] < rows)
        x = tl.load(xt_ptr + at, mask=mask, other=0.0).to(tl.float32)
        tl.store(out_ptr + at, sums[None, :] + tl.cumsum(x, axis=0), mask=mask)
        sums += tl.sum(x, axis=0)


def run(x):
    rows, cols = x.shape
    xt = x.t().contiguous()
    out = torch.empty_like(xt)
    scan_columns[(triton.cdiv(rows, 16),)](xt, out, rows, cols, ROWS=16, STEP=64)
    return out.t().contiguous()
