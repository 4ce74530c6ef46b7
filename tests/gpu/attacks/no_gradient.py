"""Attack: no_gradient

Tries: returns an output without a gradient, where the reference's can be differentiated.
Gains: No memory is kept for a backward pass that was part of the task.
Threats: S35
Answer: A problem is a function of its forward outputs, and says so: who wants gradients makes them
outputs. Nothing is gained over the twin.
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


def run(x):
    with torch.no_grad():
        return softmax(x).detach()
