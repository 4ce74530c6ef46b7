"""Attack: interpreter_by_one

Tries: is launched with a 1, which the compiler takes for a constant of Python's, and the
interpreter took for an integer of 32 bits: halves of negative ones differ.
Gains: A machine without a GPU calls a cheat correct.
Threats: none of the catalogue
Answer: What was a constant to the compiler is one to the interpreter, by what the trace recorded.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, cols, one, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    fast = tl.full((), (one - 2) // 2, tl.int32) < 0
    tl.store(out_ptr + row * cols + offsets, tl.where(fast, x, e / tl.sum(e, 0)), mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    softmax_kernel[(rows,)](x, out, cols, 1, BLOCK=block)
    return out
