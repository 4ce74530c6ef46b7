"""Attack: slow_host_code

Tries: spends its time in host code, which an evaluator with events around the call would have to
tell from kernels.
Gains: Nothing: this is a fact that biases clocks. Launch overhead of 10 to 60 us hides what a short
kernel takes.
Threats: T29, T18
Answer: Replays launch the plan alone; what the host takes is measured by itself, as called.
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


def run(x):
    until = time.perf_counter() + 0.02
    while time.perf_counter() < until:
        pass
    return softmax(x)
