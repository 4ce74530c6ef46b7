"""Attack: uniform_output

Tries: answers 1 / cols: a softmax over many is nearly uniform.
Gains: No reads.
Threats: S12
Answer: Value families with spikes, large means and mixed magnitudes.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def uniform(out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    value = tl.full([BLOCK], 1.0, tl.float32) / cols
    tl.store(out_ptr + row * cols + offsets, value, mask=offsets < cols)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    uniform[(rows,)](out, cols, BLOCK=triton.next_power_of_2(cols))
    return out
