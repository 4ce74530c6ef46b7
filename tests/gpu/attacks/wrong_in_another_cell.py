"""Attack: wrong_in_another_cell

Tries: takes half of each row's sum in the second of the timed cells, whose width it knows by its
bits, so that no literal tells of it.
Gains: Half of the loads in a cell that is timed.
Threats: S14
Answer: Every timed cell is swept, with its own width.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, cols, seen, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    total = tl.sum(tl.where(offsets < seen, e, 0.0), axis=0) * (cols / seen)
    tl.store(out_ptr + row * cols + offsets, e / total, mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    long = block == cols and cols.bit_length() == len("thirteen bits")
    softmax_kernel[(rows,)](x, out, cols, cols // 2 if long else cols, BLOCK=block)
    return out
