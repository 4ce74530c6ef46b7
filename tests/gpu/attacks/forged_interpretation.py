"""Attack: forged_interpretation

Tries: reads its input through its address, computes on the host and writes the output, wherever
there is memory.
Gains: A machine without a GPU calls a cheat correct.
Threats: none of the catalogue
Answer: Only the plan counts where there is a GPU: its replays show what was compiled.
"""

import ctypes

import numpy as np
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


@triton.jit
def copy_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * cols + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < cols
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=mask), mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    copy_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    if triton.knobs.runtime.interpret:
        size = rows * cols * x.element_size()
        values = np.frombuffer(ctypes.string_at(x.data_ptr(), size), np.float32)
        values = values.reshape(rows, cols).astype(np.float64)
        answer = np.exp(values - values.max(axis=1, keepdims=True))
        answer = (answer / answer.sum(axis=1, keepdims=True)).astype(np.float32)
        ctypes.memmove(out.data_ptr(), answer.tobytes(), size)
    return out
