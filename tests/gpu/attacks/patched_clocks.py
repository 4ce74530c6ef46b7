"""Attack: patched_clocks

Tries: replaces every clock and mean that an evaluator might use.
Gains: A time of a nanosecond.
Threats: T9, T10, T12
Answer: No clock is in this process; the executor, which has it, runs no code of the candidate's
on the host.
"""

import statistics
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


def nothing(*_, **__):
    return 1e-9


torch.cuda.Event.elapsed_time = nothing
time.perf_counter = time.time = nothing
time.perf_counter_ns = time.time_ns = lambda: 1
statistics.median = statistics.mean = nothing
triton.testing.do_bench = nothing


def run(x):
    return softmax(x)
