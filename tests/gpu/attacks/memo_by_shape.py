"""Attack: memo_by_shape

Tries: keeps outputs by shape and dtype.
Gains: The second call of a shape costs nothing.
Threats: S4, S28
Answer: A trace in which nothing is launched has an output that no launch refers to; a first
trace is an honest plan.
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
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * cols + offsets, e / tl.sum(e, axis=0), mask=mask)


def softmax(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out


MEMO = {}


def run(x):
    key = (tuple(x.shape), x.dtype)
    if key not in MEMO:
        MEMO[key] = softmax(x)
    return MEMO[key]
