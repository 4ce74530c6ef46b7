"""Attack: late_thread

Tries: launches one half of the rows, and the other half from a timer when it has returned.
Gains: The second half lies outside the window between the events.
Threats: T24
Answer: A plan holds what run launched before it returned. What comes later launches nothing, and
the rows that it was to write stay poison.
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


def later(x, out, half, cols, block):
    softmax_kernel[(x.shape[0] - half,)](x[half:], out[half:], cols, BLOCK=block)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    half = (rows + 1) // 2
    softmax_kernel[(half,)](x, out, cols, BLOCK=block)
    timer = threading.Timer(3600, later, (x, out, half, cols, block))
    timer.daemon = True
    timer.start()
    return out
