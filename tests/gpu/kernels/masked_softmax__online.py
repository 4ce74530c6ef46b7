"""masked_softmax, online: one pass over what is not masked, zeros beyond from torch.zeros."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, lengths_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    end = tl.load(lengths_ptr + row) + 1
    peak = tl.full([BLOCK], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, end, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * cols + at, mask=at < end, other=float("-inf")).to(tl.float32)
        higher = tl.maximum(peak, x)
        safe = tl.where(higher == float("-inf"), 0.0, higher)
        total = total * tl.exp(peak - safe) + tl.exp(x - safe)
        peak = higher
    highest = tl.max(peak, axis=0)
    norm = tl.sum(total * tl.exp(peak - highest), axis=0)
    for start in range(0, end, BLOCK):
        at = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * cols + at, mask=at < end, other=float("-inf")).to(tl.float32)
        tl.store(out_ptr + row * cols + at, tl.exp(x - highest) / norm, mask=at < end)


def run(x, lengths):
    out = torch.zeros_like(x)
    kernel[(x.shape[0],)](x, lengths, out, x.shape[1], BLOCK=128)
    return out
