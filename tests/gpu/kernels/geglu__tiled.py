"""geglu, tiled: tiles of rows and columns on a two-dimensional grid."""

import torch
import triton
import triton.language as tl


@triton.jit
def geglu_kernel(gate_ptr, up_ptr, out_ptr, rows, cols, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    col = tl.program_id(1) * COLS + tl.arange(0, COLS)
    at = row[:, None] * cols + col[None, :]
    mask = (row[:, None] < rows) & (col[None, :] < cols)
    gate = tl.load(gate_ptr + at, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + at, mask=mask, other=0.0).to(tl.float32)
    t = 0.7978845608028654 * (gate + 0.044715 * gate * gate * gate)
    y = gate * tl.sigmoid(2.0 * t) * up
    tl.store(out_ptr + at, y, mask=mask)


def run(gate, up):
    rows, cols = gate.shape
    out = torch.empty_like(gate)
    grid = (triton.cdiv(rows, 8), triton.cdiv(cols, 128))
    geglu_kernel[grid](gate, up, out, rows, cols, ROWS=8, COLS=128)
    return out
