"""Attack: unzeroed_atomics

Tries: adds atomically into scratch that nobody has zeroed.
Gains: A fill less, and right wherever the allocator hands out fresh zeros.
Threats: S40, T22
Answer: Scratch is poisoned before every replay.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def add_parts(x_ptr, total_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + offsets, mask=offsets < cols, other=0.0).to(tl.float32)
    tl.atomic_add(total_ptr + row, tl.sum(x * x, axis=0))


@triton.jit
def finish(x_ptr, weight_ptr, total_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    scale = tl.rsqrt(tl.load(total_ptr + row) / cols + 1e-6)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * cols + offsets, x * scale * weight, mask=mask)


def run(x, weight):
    rows, cols = x.shape
    out = torch.empty_like(x)
    total = torch.empty(rows, dtype=torch.float32, device=x.device)
    grid = (rows, triton.cdiv(cols, 1024))
    add_parts[grid](x, total, cols, BLOCK=1024)
    finish[grid](x, weight, total, out, cols, BLOCK=1024)
    return out
