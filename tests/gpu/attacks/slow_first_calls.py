"""Attack: slow_first_calls

Tries: sleeps in its first calls.
Gains: An estimator with a time box takes few samples.
Threats: T19
Answer: Tracing is not timed; it only has a limit.
"""

import time

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


CALLS = 0


def run(x):
    global CALLS
    CALLS += 1
    if CALLS <= 2:
        time.sleep(0.3)
    return softmax(x)
