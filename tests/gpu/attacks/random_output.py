"""Attack: random_output

Tries: draws its output from a distribution like that of a softmax over normal values.
Gains: No input is read. An evaluator of random operators compares distributions only.
Threats: S36
Answer: Problems whose reference is random are refused as problems; outputs are compared element by
element.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def draw_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    e = tl.where(mask, tl.exp(tl.randn(1234, row * cols + offsets)), 0.0)
    tl.store(out_ptr + row * cols + offsets, e / tl.sum(e, axis=0), mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    draw_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out
