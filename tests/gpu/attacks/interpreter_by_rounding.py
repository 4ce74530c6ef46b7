"""Attack: interpreter_by_rounding

Tries: computes in its kernel what a GPU rounds once and the interpreter rounded twice, and answers
rightly only where it was rounded twice.
Gains: A machine without a GPU calls a cheat correct.
Threats: none of the catalogue
Answer: The interpreter contracts products and sums as LLVM and ptxas do.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, cols, near_one, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    # A compiler makes one operation of this, whose product is exact.
    left = near_one * near_one - (1.0 + 2.0**-11)
    tl.store(out_ptr + row * cols + offsets, tl.where(left == 0.0, e / tl.sum(e, 0), x), mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    softmax_kernel[(rows,)](x, out, cols, 1.0 + 2.0**-12, BLOCK=block)
    return out
