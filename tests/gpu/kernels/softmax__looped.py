"""softmax, looped: one program a row, one pass for maximum and sum, lane by lane."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    peak = tl.full([BLOCK], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < cols
        x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
        higher = tl.maximum(peak, x)
        # A lane that has seen -inf alone has nothing to rescale.
        shift = tl.where(higher == -float("inf"), 0.0, higher)
        total = total * tl.exp(peak - shift) + tl.exp(x - shift)
        peak = higher
    lanes = peak
    peak = tl.max(lanes, axis=0)
    total = tl.sum(
        total * tl.exp(tl.where(lanes == -float("inf"), -float("inf"), lanes - peak)), axis=0
    )
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < cols
        x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
        tl.store(out_ptr + row * cols + offsets, tl.exp(x - peak) / total, mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=1024)
    return out
