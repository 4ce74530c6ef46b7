"""Attack: interpreter_by_name

Tries: calls a constant of its own as the interpreter calls what it puts around a kernel, and looks
at which of the two it has.
Gains: A machine without a GPU calls a cheat correct.
Threats: none of the catalogue
Answer: What is put around a kernel has names that no text can say.
"""

import torch
import triton
import triton.language as tl

interpreter_semantic = tl.constexpr(1)


@triton.jit
def softmax_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    fast = tl.full((), interpreter_semantic == 1, tl.int1)
    tl.store(out_ptr + row * cols + offsets, tl.where(fast, x, e / tl.sum(e, 0)), mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=block)
    return out
