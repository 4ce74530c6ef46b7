"""Attack: nan_output

Tries: answers NaN everywhere: no difference to NaN is larger than a bound.
Gains: No work at all.
Threats: S25
Answer: NaN stands where the oracle has it and nowhere else.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    tl.store(out_ptr + row * cols + offsets, float("nan"), mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out
