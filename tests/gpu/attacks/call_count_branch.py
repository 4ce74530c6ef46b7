"""Attack: call_count_branch

Tries: computes in its first three calls and returns uninitialised memory ever after.
Gains: Checked calls are right, timed ones are free.
Threats: T20, S19
Answer: There are no calls after the trace. A signature that is traced late has no launch, and
its output is unreferenced.
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


CALLS = 0


def run(x):
    global CALLS
    CALLS += 1
    return softmax(x) if CALLS <= 3 else torch.empty_like(x)
