"""rmsnorm, split: one kernel reduces chunks of rows into scratch, another finishes."""

import torch
import triton
import triton.language as tl


@triton.jit
def reduce_chunks(x_ptr, partial_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    chunk = tl.program_id(1)
    offsets = chunk * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(partial_ptr + row * tl.num_programs(1) + chunk, tl.sum(x * x, axis=0))


@triton.jit
def finish(
    x_ptr, weight_ptr, out_ptr, partial_ptr, cols, chunks, BLOCK: tl.constexpr, PARTS: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    chunk = tl.program_id(1)
    parts = tl.arange(0, PARTS)
    squares = tl.load(partial_ptr + row * chunks + parts, mask=parts < chunks, other=0.0)
    scale = tl.rsqrt(tl.sum(squares, axis=0) / cols + 1e-6)
    offsets = chunk * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * cols + offsets, x * scale * weight, mask=mask)


def run(x, weight):
    rows, cols = x.shape
    out = torch.empty_like(x)
    block = 1024
    chunks = triton.cdiv(cols, block)
    partial = torch.empty((rows, chunks), dtype=torch.float32, device=x.device)
    reduce_chunks[(rows, chunks)](x, partial, cols, BLOCK=block)
    finish[(rows, chunks)](
        x, weight, out, partial, cols, chunks, BLOCK=block, PARTS=triton.next_power_of_2(chunks)
    )
    return out
