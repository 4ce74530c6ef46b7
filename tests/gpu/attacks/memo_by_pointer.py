"""Attack: memo_by_pointer

Tries: keeps outputs by the address of the input.
Gains: A timed loop over the same buffers costs one launch in all.
Threats: T17, S1
Answer: Host code runs while tracing only; replays are of launches, on inputs that did not exist
then.
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
    key = (x.data_ptr(), x._version)
    if key not in MEMO:
        MEMO[key] = softmax(x)
    return MEMO[key]
