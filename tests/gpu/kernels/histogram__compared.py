"""histogram, compared: one program a bin, which compares every value and needs no atomics."""

import torch
import triton
import triton.language as tl


@triton.jit
def count_kernel(values_ptr, out_ptr, n, BLOCK: tl.constexpr):
    bin = tl.program_id(0)
    count = tl.zeros([BLOCK], tl.int32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(values_ptr + at, mask=at < n, other=-1)
        count += (value == bin).to(tl.int32)
    tl.store(out_ptr + bin, tl.sum(count))


def run(values):
    out = values.new_empty(64, dtype=torch.int32)
    count_kernel[(64,)](values, out, values.numel(), 1024)
    return out
