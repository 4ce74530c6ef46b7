"""Attack: interpreter_by_conversion

Tries: makes an integer of what is no number: 0 on a GPU, and the least there is on the processor
that the interpreter runs on.
Gains: A machine without a GPU calls a cheat correct.
Threats: none of the catalogue
Answer: The interpreter converts as a GPU does.
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
    nothing = (x - x + float("nan")).to(tl.int32)
    fast = tl.max(nothing, axis=0) == 0
    tl.store(out_ptr + row * cols + offsets, tl.where(fast, x, e / tl.sum(e, 0)), mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=block)
    return out
