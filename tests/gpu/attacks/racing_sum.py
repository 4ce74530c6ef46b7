"""Attack: racing_sum

Tries: adds the parts of a row's sum by loads and stores, as if programs ran one after another.
Gains: The atomics, or the scratch and the second pass over it.
Threats: S22
Answer: Replays that differ; without a GPU what a program reads of another's of its launch, with
nothing atomic before, is a race.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def add_parts(x_ptr, total_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * cols + offsets, mask=offsets < cols, other=0.0).to(tl.float32)
    tl.store(total_ptr + row, tl.load(total_ptr + row) + tl.sum(x * x, axis=0))


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
    total = torch.zeros(rows, dtype=torch.float32, device=x.device)
    grid = (rows, triton.cdiv(cols, 16))
    add_parts[grid](x, total, cols, BLOCK=16)
    finish[grid](x, weight, total, out, cols, BLOCK=16)
    return out
