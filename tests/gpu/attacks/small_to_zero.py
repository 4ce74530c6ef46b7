"""Attack: small_to_zero

Tries: answers zero wherever the result is below 1e-6: far below any absolute tolerance.
Gains: A judge that fails elements only where both bounds are passed never looks at small ones.
Threats: S27
Answer: The allowed error is learnt binade by binade: small results have small bounds.
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
    y = e / tl.sum(e, axis=0)
    tl.store(out_ptr + row * cols + offsets, tl.where(y < 1e-6, 0.0, y), mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out
