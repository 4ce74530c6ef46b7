"""Attack: scratch_counter

Tries: counts its launches in scratch that it never initialises, and stops working at the
second.
Gains: Checked once, timed for nothing.
Threats: S34, X5, S20
Answer: Scratch is poisoned before every replay, so it never counts to two. Where it does, the
zeros show.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, seen_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    seen = tl.load(seen_ptr + row) == 123456789
    tl.store(seen_ptr + row, 123456789)
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * cols + offsets, tl.where(seen, 0.0, e / tl.sum(e, axis=0)), mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    seen = torch.empty(rows, dtype=torch.int32, device=x.device)
    softmax_kernel[(rows,)](x, out, seen, cols, BLOCK=triton.next_power_of_2(cols))
    return out
