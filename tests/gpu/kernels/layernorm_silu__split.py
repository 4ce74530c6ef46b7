"""layernorm_silu, split: one kernel reduces chunks of rows into scratch, another finishes."""

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
    count = tl.minimum(cols - chunk * BLOCK, BLOCK)
    mean = tl.sum(x, axis=0) / count
    centred = tl.where(mask, x - mean, 0.0)
    at = partial_ptr + (row * tl.num_programs(1) + chunk) * 2
    tl.store(at, mean)
    tl.store(at + 1, tl.sum(centred * centred, axis=0))


@triton.jit
def finish(
    x_ptr,
    weight_ptr,
    bias_ptr,
    out_ptr,
    partial_ptr,
    cols,
    chunks,
    BLOCK: tl.constexpr,
    PARTS: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    chunk = tl.program_id(1)
    parts = tl.arange(0, PARTS)
    means = tl.load(partial_ptr + (row * chunks + parts) * 2 + 0, mask=parts < chunks, other=0.0)
    squares = tl.load(partial_ptr + (row * chunks + parts) * 2 + 1, mask=parts < chunks, other=0.0)
    counts = tl.maximum(tl.minimum(cols - parts * BLOCK, BLOCK), 0)
    mean = tl.sum(means * counts, axis=0) / cols
    away = means - mean
    scale = tl.rsqrt(tl.sum(squares + counts * away * away, axis=0) / cols + 1e-5)
    offsets = chunk * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    n = (x - mean) * scale * weight + bias
    tl.store(out_ptr + row * cols + offsets, n * tl.sigmoid(n), mask=mask)


def run(x, weight, bias):
    rows, cols = x.shape
    out = torch.empty_like(x)
    block = 1024
    chunks = triton.cdiv(cols, block)
    partial = torch.empty((rows, chunks, 2), dtype=torch.float32, device=x.device)
    reduce_chunks[(rows, chunks)](x, partial, cols, BLOCK=block)
    finish[(rows, chunks)](
        x,
        weight,
        bias,
        out,
        partial,
        cols,
        chunks,
        BLOCK=block,
        PARTS=triton.next_power_of_2(chunks),
    )
    return out
