"""Attack: persisting_l2

Tries: sets aside a part of the L2 cache and asks for its inputs to persist there.
Gains: Inputs survive the flush between two timed runs.
Threats: T14
Answer: Limits and access policies of the host are no launches: no plan holds them, and this process
has no context of the referee.
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


PERSISTING_L2_CACHE_SIZE = 0x06


def run(x):
    with contextlib.suppress(OSError):
        runtime = ctypes.CDLL("libcudart.so")
        runtime.cudaDeviceSetLimit(PERSISTING_L2_CACHE_SIZE, ctypes.c_size_t(1 << 25))
    return softmax(x)
