"""swiglu, split: a kernel that keeps the activation in scratch, and one that multiplies."""

import torch
import triton
import triton.language as tl


@triton.jit
def activate(gate_ptr, active_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    gate = tl.load(gate_ptr + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(active_ptr + at, gate * tl.sigmoid(gate), mask=mask)


@triton.jit
def multiply(active_ptr, up_ptr, out_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    active = tl.load(active_ptr + at, mask=mask, other=0.0)
    up = tl.load(up_ptr + at, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + at, active * up, mask=mask)


def run(gate, up):
    out = torch.empty_like(gate)
    active = torch.empty(gate.shape, dtype=torch.float32, device=gate.device)
    count = out.numel()
    grid = (triton.cdiv(count, 1024),)
    activate[grid](gate, active, count, BLOCK=1024)
    multiply[grid](active, up, out, count, BLOCK=1024)
    return out
