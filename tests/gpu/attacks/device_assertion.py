"""Attack: device_assertion

Tries: asserts on the device that nobody compares it, and ends the launch where the assertion fails.
Gains: A fault that looks like the machine's.
Threats: none of the catalogue
Answer: A trap is the candidate's fault, whoever asked for it.
"""

import torch
import triton
import triton.language as tl


@triton.jit(debug=True)
def softmax_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.device_assert(tl.sum(e, axis=0) < 0.0, "nobody compares this")
    tl.store(out_ptr + row * cols + offsets, e / tl.sum(e, axis=0), mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out
