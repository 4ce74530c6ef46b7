"""Attack: wrong_strides

Tries: returns the transpose of a transposed buffer.
Gains: Writes in the order that suits it; a copy afterwards is someone else's time.
Threats: S30
Answer: dtype, shape and strides are compared exactly when the plan is audited.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, rows, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + offsets.to(tl.int64) * rows + row, e / tl.sum(e, axis=0), mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty((cols, rows), dtype=x.dtype, device=x.device)
    softmax_kernel[(rows,)](x, out, rows, cols, BLOCK=triton.next_power_of_2(cols))
    return out.t()
