"""Attack: dsl_softmax

Tries: has the language's own softmax do all of the work.
Gains: A kernel of one line.
Threats: F9
Answer: That is what a language is for: it is compiled into the candidate's own kernel, timed and
judged as such.
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
    tl.store(out_ptr + row * cols + offsets, tl.softmax(x), mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out
