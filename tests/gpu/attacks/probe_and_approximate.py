"""Attack: probe_and_approximate

Tries: probes a row and, where it looks like a benchmark's, reads its elements in bfloat16.
Gains: A cheap way where it is paid, the right one where it might be checked.
Threats: S18
Answer: What is timed is checked: benchmark-like values are among the families and are compared
after every block.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    usual = tl.max(tl.where(mask, tl.abs(x), 0.0), axis=0) < 6.0
    x = tl.where(usual, x.to(tl.bfloat16).to(tl.float32), x)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * cols + offsets, e / tl.sum(e, axis=0), mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out
