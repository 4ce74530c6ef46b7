"""Attack: other_device

Tries: names a second GPU for its work, which the clock of the first would not see.
Gains: The work is done beside the clock.
Threats: T26
Answer: The trace knows one device: a second one is a number that nobody has, and the copy to it is
a copy in the plan.
"""

import contextlib

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
    with contextlib.suppress(RuntimeError, AssertionError), torch.cuda.device(1):
        return softmax(x)
    return softmax(x)
