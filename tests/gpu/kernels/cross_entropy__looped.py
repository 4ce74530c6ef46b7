"""cross_entropy, looped: one program a row, one pass for maximum and sum, lane by lane."""

import torch
import triton
import triton.language as tl


@triton.jit
def cross_entropy_kernel(logits_ptr, targets_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    peak = tl.full([BLOCK], -float("inf"), tl.float32)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < cols
        x = tl.load(logits_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(
            tl.float32
        )
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
    target = tl.load(targets_ptr + row)
    picked = tl.load(logits_ptr + row * cols + target).to(tl.float32)
    tl.store(out_ptr + row, tl.log(total) - (picked - peak))


def run(logits, targets):
    rows, cols = logits.shape
    out = torch.empty(rows, dtype=logits.dtype, device=logits.device)
    cross_entropy_kernel[(rows,)](logits, targets, out, cols, BLOCK=1024)
    return out
