"""Attack: event_handles

Tries: looks for the referee's events through the driver's functions and records them anew, early.
Gains: An end event that is recorded at the start makes every run take no time.
Threats: T25
Answer: Events belong to the executor, another process. This one has no context, and a handle is
worth nothing in it.
"""

import contextlib
import ctypes

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


def run(x):
    with contextlib.suppress(OSError, AttributeError):
        driver = ctypes.CDLL("libcuda.so.1")
        for handle in range(1, 64):
            driver.cuEventRecord(ctypes.c_void_p(handle), None)
    return softmax(x)
