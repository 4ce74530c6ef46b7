"""geglu, tma: tiles through TMA where the pitch of rows allows it, pointers elsewhere."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def geglu_described(gate_desc, up_desc, out_desc, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS
    col = tl.program_id(1) * COLS
    gate = gate_desc.load([row, col]).to(tl.float32)
    up = up_desc.load([row, col]).to(tl.float32)
    t = 0.7978845608028654 * (gate + 0.044715 * gate * gate * gate)
    y = gate * tl.sigmoid(2.0 * t) * up
    out_desc.store([row, col], y.to(out_desc.dtype))


@triton.jit
def geglu_pointers(gate_ptr, up_ptr, out_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    gate = tl.load(gate_ptr + at, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + at, mask=mask, other=0.0).to(tl.float32)
    t = 0.7978845608028654 * (gate + 0.044715 * gate * gate * gate)
    y = gate * tl.sigmoid(2.0 * t) * up
    tl.store(out_ptr + at, y, mask=mask)


def run(gate, up):
    rows, cols = gate.shape
    out = torch.empty_like(gate)
    count = out.numel()
    if count and cols * gate.element_size() % 16 == 0:
        gate, up, described = (TensorDescriptor.from_tensor(t, [8, 128]) for t in (gate, up, out))
        grid = (triton.cdiv(rows, 8), triton.cdiv(cols, 128))
        geglu_described[grid](gate, up, described, ROWS=8, COLS=128)
    else:
        geglu_pointers[(triton.cdiv(count, 1024),)](gate, up, out, count, BLOCK=1024)
    return out
