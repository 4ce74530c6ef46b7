"""Attack: same_call_once

Tries: launches once for calls with the same tensor that follow one another quickly.
Gains: One launch under a pair of events around many calls.
Threats: T30
Answer: A plan is replayed whole, once between two events; nothing of the host decides whether.
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


LAST = [None, None, 0.0]


def run(x):
    now = time.perf_counter()
    if LAST[0] is not x or now - LAST[2] > 0.001:
        LAST[:] = x, softmax(x), now
    return LAST[1]
