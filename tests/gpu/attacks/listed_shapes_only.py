"""Attack: listed_shapes_only

Tries: is right at the widths that the case pool is known to hold, and leaves half a row out at any
other.
Gains: Code for a dozen widths in place of code for all.
Threats: none of the catalogue
Answer: Some shapes of the pool have to come from the secret seed.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, cols, LEFT_OUT: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    e = tl.where(offsets < cols - LEFT_OUT, e, 0.0)
    tl.store(out_ptr + row * cols + offsets, e / tl.sum(e, axis=0), mask=mask)


# Those that docs/tolerance.md names, and of the timed cells.
LISTED = {1, 3, 31, 127, 256, 257, 512, 513, 1000, 1025, 4097, 1024, 4096}
LISTED |= {17, 40}  # Of this suite.


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    left = 0 if cols in LISTED else cols // 2
    block = triton.next_power_of_2(cols)
    softmax_kernel[(rows,)](x, out, cols, LEFT_OUT=left, BLOCK=block)
    return out
