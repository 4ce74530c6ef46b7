"""geglu, looped: one program a row, block by block."""

import torch
import triton
import triton.language as tl


@triton.jit
def geglu_kernel(gate_ptr, up_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * cols
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < cols
        gate = tl.load(gate_ptr + first + offsets, mask=mask, other=0.0).to(tl.float32)
        up = tl.load(up_ptr + first + offsets, mask=mask, other=0.0).to(tl.float32)
        t = 0.7978845608028654 * (gate + 0.044715 * gate * gate * gate)
        y = gate * tl.sigmoid(2.0 * t) * up
        tl.store(out_ptr + first + offsets, y, mask=mask)


def run(gate, up):
    rows, cols = gate.shape
    out = torch.empty_like(gate)
    geglu_kernel[(rows,)](gate, up, out, cols, BLOCK=1024)
    return out
