"""cross_entropy, tiled: several short rows in one tile."""

import torch
import triton
import triton.language as tl


@triton.jit
def cross_entropy_kernel(
    logits_ptr, targets_ptr, out_ptr, rows, cols, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    offsets = tl.arange(0, BLOCK)
    at = row[:, None] * cols + offsets[None, :]
    mask = (row[:, None] < rows) & (offsets[None, :] < cols)
    x = tl.load(logits_ptr + at, mask=mask, other=-float("inf")).to(tl.float32)
    peak = tl.max(x, axis=1)
    total = tl.sum(tl.exp(x - peak[:, None]), axis=1)
    inside = row < rows
    target = tl.load(targets_ptr + row, mask=inside, other=0)
    picked = tl.load(logits_ptr + row * cols + target, mask=inside, other=0.0).to(tl.float32)
    tl.store(out_ptr + row, tl.log(total) - (picked - peak), mask=inside)


def run(logits, targets):
    rows, cols = logits.shape
    out = torch.empty(rows, dtype=logits.dtype, device=logits.device)
    block = triton.next_power_of_2(cols)
    tile_rows = max(1, min(16, 4096 // block))
    cross_entropy_kernel[(triton.cdiv(rows, tile_rows),)](
        logits,
        targets,
        out,
        rows,
        cols,
        ROWS=tile_rows,
        BLOCK=block,
        num_warps=min(max(tile_rows * block // 512, 1), 16),
    )
    return out
