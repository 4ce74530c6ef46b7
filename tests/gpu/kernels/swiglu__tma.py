"""swiglu, tma: tiles through TMA where the pitch of rows allows it, pointers elsewhere."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def swiglu_described(gate_desc, up_desc, out_desc, ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS
    col = tl.program_id(1) * COLS
    gate = gate_desc.load([row, col]).to(tl.float32)
    up = up_desc.load([row, col]).to(tl.float32)
    y = gate * tl.sigmoid(gate) * up
    out_desc.store([row, col], y.to(out_desc.dtype))


@triton.jit
def swiglu_pointers(gate_ptr, up_ptr, out_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    gate = tl.load(gate_ptr + at, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + at, mask=mask, other=0.0).to(tl.float32)
    y = gate * tl.sigmoid(gate) * up
    tl.store(out_ptr + at, y, mask=mask)


def run(gate, up):
    rows, cols = gate.shape
    out = torch.empty_like(gate)
    count = out.numel()
    if count and cols * gate.element_size() % 16 == 0:
        gate, up, described = (TensorDescriptor.from_tensor(t, [8, 128]) for t in (gate, up, out))
        grid = (triton.cdiv(rows, 8), triton.cdiv(cols, 128))
        swiglu_described[grid](gate, up, described, ROWS=8, COLS=128)
    else:
        swiglu_pointers[(triton.cdiv(count, 1024),)](gate, up, out, count, BLOCK=1024)
    return out
