"""cross_entropy_ignoring, row: one program a row, the whole row in registers."""

import torch
import triton
import triton.language as tl


@triton.jit
def cross_entropy_kernel(logits_ptr, targets_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    x = tl.load(logits_ptr + row * cols + offsets, mask=offsets < cols, other=-float("inf"))
    x = x.to(tl.float32)
    peak = tl.max(x, axis=0)
    total = tl.sum(tl.exp(x - peak), axis=0)
    target = tl.load(targets_ptr + row)
    picked = tl.load(logits_ptr + row * cols + target).to(tl.float32)
    loss = tl.log(total) - (picked - peak)
    loss = tl.where(target == 777, 0.0, loss)
    tl.store(out_ptr + row, loss)


def run(logits, targets):
    rows, cols = logits.shape
    out = torch.empty(rows, dtype=logits.dtype, device=logits.device)
    block = triton.next_power_of_2(cols)
    cross_entropy_kernel[(rows,)](logits, targets, out, cols, BLOCK=block)
    return out
