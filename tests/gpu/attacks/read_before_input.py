"""Attack: read_before_input

Tries: reads the element before its input's first.
Gains: What a neighbour in the allocator's pool left there, in the worst case the expected
output.
Threats: S23
Answer: Buffers touch guard pages at either end, in turn; what lies between them and their
neighbours is poison.
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
    # Neither is of any use: the value is multiplied by zero, and NaN and infinity show.
    stray = tl.load(x_ptr - 1).to(tl.float32)
    tl.store(out_ptr + row * cols + offsets, e / tl.sum(e, axis=0) + 0.0 * stray, mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out
