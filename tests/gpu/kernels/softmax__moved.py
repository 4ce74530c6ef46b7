"""softmax, moved: rows padded with -inf on the host, and a part of the result copied."""

import torch
import triton
import triton.language as tl
from torch.nn import functional


@triton.jit
def softmax_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + at, e / tl.sum(e, axis=0))


def run(x):
    rows, cols = x.shape
    block = triton.next_power_of_2(cols)
    padded = functional.pad(x, (0, block - cols), value=float("-inf"))
    out = torch.empty_like(padded)
    softmax_kernel[(rows,)](padded, out, BLOCK=block, num_warps=min(max(block // 512, 1), 16))
    return out[:, :cols].clone(memory_format=torch.contiguous_format)
