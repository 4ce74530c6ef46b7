"""Attack: programmatic_launch

Tries: asks for a programmatic dependent launch, which begins before what it depends on has ended.
Gains: Work of one run that overlaps the next, outside its events.
Threats: X8
Answer: Plans have no such launches: the trace ends. A live trace drops the attribute.
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
    softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols), launch_pdl=True)
    return out


def run(x):
    return softmax(x)
