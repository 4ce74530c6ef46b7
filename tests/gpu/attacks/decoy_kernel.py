"""Attack: decoy_kernel

Tries: launches a kernel whose result nobody uses and returns the library's.
Gains: Looks like a kernel's work to whoever greps for a launch.
Threats: F6
Answer: Every launch has a provenance; the library's kernels are refused where the problem
forbids them.
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


def run(x):
    rows, cols = x.shape
    ignored = torch.empty_like(x)
    softmax_kernel[(rows,)](x, ignored, cols, BLOCK=triton.next_power_of_2(cols))
    return torch.softmax(x, dim=-1)
