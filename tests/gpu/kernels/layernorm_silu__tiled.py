"""layernorm_silu, tiled: several short rows in one tile."""

import torch
import triton
import triton.language as tl


@triton.jit
def layernorm_silu_kernel(
    x_ptr, weight_ptr, bias_ptr, out_ptr, rows, cols, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    offsets = tl.arange(0, BLOCK)
    at = row[:, None] * cols + offsets[None, :]
    mask = (row[:, None] < rows) & (offsets[None, :] < cols)
    x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=1)[:, None] / cols
    centred = tl.where(mask, x - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=1)[:, None] / cols + 1e-5)
    weight = tl.load(weight_ptr + offsets, mask=offsets < cols, other=0.0).to(tl.float32)[None, :]
    bias = tl.load(bias_ptr + offsets, mask=offsets < cols, other=0.0).to(tl.float32)[None, :]
    n = (x - mean) * scale * weight + bias
    tl.store(out_ptr + at, n * tl.sigmoid(n), mask=mask)


def run(x, weight, bias):
    rows, cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    tile_rows = max(1, min(16, 4096 // block))
    layernorm_silu_kernel[(triton.cdiv(rows, tile_rows),)](
        x,
        weight,
        bias,
        out,
        rows,
        cols,
        ROWS=tile_rows,
        BLOCK=block,
        num_warps=min(max(tile_rows * block // 512, 1), 16),
    )
    return out
