"""Attack: interpreter_by_remainder

Tries: divides the variable of a loop, which is an integer of 32 bits to the compiler and was one
of Python's to the interpreter: the remainders of negative ones differ.
Gains: A machine without a GPU calls a cheat correct.
Threats: none of the catalogue
Answer: The interpreter gives the variables of loops the types that the compiler gives them.
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
    fast = False
    for i in range(1):
        fast = (i - 1) % 3 < 0
    tl.store(out_ptr + row * cols + offsets, tl.where(fast, x, e / tl.sum(e, 0)), mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=block)
    return out
