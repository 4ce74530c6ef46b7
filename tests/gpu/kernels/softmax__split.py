"""softmax, split: one kernel reduces chunks of rows into scratch, another finishes."""

import torch
import triton
import triton.language as tl


@triton.jit
def reduce_chunks(x_ptr, partial_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    chunk = tl.program_id(1)
    offsets = chunk * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    peak = tl.max(x, axis=0)
    shift = tl.where(peak == -float("inf"), 0.0, peak)
    total = tl.sum(tl.exp(x - shift), axis=0)
    at = partial_ptr + (row * tl.num_programs(1) + chunk) * 2
    tl.store(at, peak)
    tl.store(at + 1, total)


@triton.jit
def finish(x_ptr, out_ptr, partial_ptr, cols, chunks, BLOCK: tl.constexpr, PARTS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    chunk = tl.program_id(1)
    parts = tl.arange(0, PARTS)
    peaks = tl.load(
        partial_ptr + (row * chunks + parts) * 2 + 0, mask=parts < chunks, other=-float("inf")
    )
    totals = tl.load(partial_ptr + (row * chunks + parts) * 2 + 1, mask=parts < chunks, other=0.0)
    peak = tl.max(peaks, axis=0)
    total = tl.sum(totals * tl.exp(peaks - peak), axis=0)
    offsets = chunk * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    tl.store(out_ptr + row * cols + offsets, tl.exp(x - peak) / total, mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    block = 1024
    chunks = triton.cdiv(cols, block)
    partial = torch.empty((rows, chunks, 2), dtype=torch.float32, device=x.device)
    reduce_chunks[(rows, chunks)](x, partial, cols, BLOCK=block)
    finish[(rows, chunks)](
        x, out, partial, cols, chunks, BLOCK=block, PARTS=triton.next_power_of_2(chunks)
    )
    return out
