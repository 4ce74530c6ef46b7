"""add_rmsnorm_gelu, autotuned: block by block, the block's size chosen by measuring."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 256}, num_warps=2),
        triton.Config({"BLOCK": 1024}, num_warps=4),
        triton.Config({"BLOCK": 2048}, num_warps=8),
        triton.Config({"BLOCK": 4096}, num_warps=8, num_stages=2),
    ],
    key=["cols"],
)
@triton.jit
def add_rmsnorm_gelu_kernel(x_ptr, residual_ptr, weight_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < cols
        x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
        x += tl.load(residual_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
        squares += x * x
    scale = tl.rsqrt(tl.sum(squares, axis=0) / cols + 1e-6)
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < cols
        x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
        x += tl.load(residual_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
        n = x * scale * weight
        t = 0.7978845608028654 * (n + 0.044715 * n * n * n)
        tl.store(out_ptr + row * cols + offsets, n * tl.sigmoid(2.0 * t), mask=mask)


def run(x, residual, weight):
    rows, cols = x.shape
    out = torch.empty_like(x)
    add_rmsnorm_gelu_kernel[(rows,)](x, residual, weight, out, cols)
    return out
