"""Attack: input_mutation

Tries: computes in place, in the input, and copies the result out.
Gains: No scratch; and a reference that runs afterwards sees the changed input.
Threats: S8, S9
Answer: Inputs are mapped read-only: the kernel faults.
"""

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
    softmax_kernel[(rows,)](x, x, cols, BLOCK=triton.next_power_of_2(cols))
    return x.clone()
