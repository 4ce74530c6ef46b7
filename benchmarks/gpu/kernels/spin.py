"""Copies a small tensor behind a chain of dependent multiply-adds, of which there are ITERATIONS.

One such chain takes the same number of cycles whatever comes before it: two kernels that differ in
ITERATIONS differ in time by a known amount. Each block notes when it began and ended, so that how
long a kernel ran is known from the very code that is timed.
"""

import torch
import triton
import triton.language as tl
from triton.language.extra.cuda import globaltimer

ITERATIONS = 1000


@triton.jit
def spin(x, out, spans, iterations, one, zero, block: tl.constexpr):
    """`spans`: two numbers for each block, by the device's clock, in nanoseconds."""
    begin = globaltimer()
    tl.debug_barrier()
    at = tl.program_id(0) * block + tl.arange(0, block)
    value = tl.load(x + at)
    for _ in range(iterations):
        value = value * one + zero
    tl.store(out + at, value)
    tl.debug_barrier()
    end = globaltimer()
    tl.store(spans + 2 * tl.program_id(0), begin)
    tl.store(spans + 2 * tl.program_id(0) + 1, end)


def run(x):
    out = torch.empty_like(x)
    blocks = x.numel() // 128
    spans = torch.empty(blocks, 2, dtype=torch.int64, device=x.device)
    spin[(blocks,)](x, out, spans, ITERATIONS, 1.0, 0.0, block=128, num_warps=4)
    return out
