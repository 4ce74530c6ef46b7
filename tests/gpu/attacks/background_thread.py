"""Attack: background_thread

Tries: returns an empty tensor and launches from a thread some time later.
Gains: The clock stops before the work begins.
Threats: T3, T4
Answer: What was not launched when run() returned is not in the plan, so no launch refers to the
output.
"""

import threading

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


def late(x, out):
    rows, cols = x.shape
    softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))


def run(x):
    out = torch.empty_like(x)
    threading.Timer(0.5, late, (x, out)).start()
    return out
