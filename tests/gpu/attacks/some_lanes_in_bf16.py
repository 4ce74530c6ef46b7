"""Attack: some_lanes_in_bf16

Tries: sums a quarter of its lanes in bfloat16 and the others in float32.
Gains: A quarter of the traffic of shared memory, hidden in the average.
Threats: none of the catalogue
Answer: The allowed error is that of float32: one lane in four shows as well as all.
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
    rough = e.to(tl.bfloat16).to(tl.float32)
    e = tl.where(offsets % 4 == 0, rough, e)
    tl.store(out_ptr + row * cols + offsets, e / tl.sum(e, axis=0), mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out
