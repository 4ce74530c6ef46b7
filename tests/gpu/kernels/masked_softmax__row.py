"""masked_softmax, row: the mask of the lengths joined with that of the row."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, lengths_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    last = tl.load(lengths_ptr + row)
    at = tl.arange(0, BLOCK)
    live = (at <= last) & (at < cols)
    x = tl.load(x_ptr + row * cols + at, mask=live, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * cols + at, e / tl.sum(e, axis=0), mask=at < cols)


def run(x, lengths):
    rows, cols = x.shape
    out = torch.empty_like(x)
    kernel[(rows,)](x, lengths, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out
