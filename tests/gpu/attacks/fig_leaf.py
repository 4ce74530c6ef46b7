"""Attack: fig_leaf

Tries: lets the library compute and copies the result with a kernel of its own.
Gains: As decoy_kernel, and the data flow passes through the candidate's kernel.
Threats: F7
Answer: Every launch has a provenance; the library's kernels are refused where the problem
forbids them.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def copy(from_ptr, to_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    tl.store(to_ptr + at, tl.load(from_ptr + at, mask=mask), mask=mask)


def run(x):
    out = torch.empty_like(x)
    copy[(triton.cdiv(x.numel(), 1024),)](torch.softmax(x, dim=-1), out, x.numel(), BLOCK=1024)
    return out
