"""Attack: wrong_dtype

Tries: returns half precision where float32 is due.
Gains: Half of the writes; a comparison that casts never notices.
Threats: S31
Answer: dtype, shape and strides are compared exactly when the plan is audited.
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
    out = torch.empty(x.shape, dtype=torch.float16, device=x.device)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out
