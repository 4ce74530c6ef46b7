"""relu, flat: a block of elements a program."""

import torch
import triton
import triton.language as tl


@triton.jit
def relu_kernel(x_ptr, out_ptr, elements, BLOCK: tl.constexpr):  # noqa: N803
    offsets = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < elements
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, tl.maximum(x, 0.0), mask=mask)


def run(x):
    out = torch.empty_like(x)
    relu_kernel[(triton.cdiv(x.numel(), 2048),)](x, out, x.numel(), BLOCK=2048)
    return out
