"""Attack: narrow_index

Tries: counts elements in 16 bits.
Gains: Cheaper addresses, right as long as tensors are small.
Threats: S38
Answer: One of the swept shapes has more than 65536 elements, and all timed ones do: addresses wrap
into other rows.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    first = (tl.program_id(0) * cols).to(tl.uint16).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + first + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + first + offsets, e / tl.sum(e, axis=0), mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out
