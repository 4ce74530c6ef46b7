"""cross_entropy, split: one kernel reduces chunks of rows into scratch, another finishes."""

import torch
import triton
import triton.language as tl


@triton.jit
def reduce_chunks(logits_ptr, partial_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    chunk = tl.program_id(1)
    offsets = chunk * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(logits_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    peak = tl.max(x, axis=0)
    shift = tl.where(peak == -float("inf"), 0.0, peak)
    total = tl.sum(tl.exp(x - shift), axis=0)
    at = partial_ptr + (row * tl.num_programs(1) + chunk) * 2
    tl.store(at, peak)
    tl.store(at + 1, total)


@triton.jit
def finish(logits_ptr, targets_ptr, out_ptr, partial_ptr, cols, chunks, PARTS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    parts = tl.arange(0, PARTS)
    peaks = tl.load(
        partial_ptr + (row * chunks + parts) * 2 + 0, mask=parts < chunks, other=-float("inf")
    )
    totals = tl.load(partial_ptr + (row * chunks + parts) * 2 + 1, mask=parts < chunks, other=0.0)
    peak = tl.max(peaks, axis=0)
    total = tl.sum(totals * tl.exp(peaks - peak), axis=0)
    target = tl.load(targets_ptr + row)
    picked = tl.load(logits_ptr + row * cols + target).to(tl.float32)
    tl.store(out_ptr + row, tl.log(total) - (picked - peak))


def run(logits, targets):
    rows, cols = logits.shape
    out = torch.empty(rows, dtype=logits.dtype, device=logits.device)
    block = 1024
    chunks = triton.cdiv(cols, block)
    partial = torch.empty((rows, chunks, 2), dtype=torch.float32, device=logits.device)
    reduce_chunks[(rows, chunks)](logits, partial, cols, BLOCK=block)
    finish[(rows,)](
        logits, targets, out, partial, cols, chunks, PARTS=triton.next_power_of_2(chunks)
    )
    return out
