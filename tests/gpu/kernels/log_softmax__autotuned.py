"""log_softmax, autotuned: block by block, the block's size chosen by measuring."""

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
def log_softmax_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    peak = tl.full([BLOCK], -float("inf"), tl.float32)
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < cols
        x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
        peak = tl.maximum(peak, x)
    peak = tl.max(peak, axis=0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < cols
        x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
        total += tl.exp(x - peak)
    total = tl.sum(total, axis=0)
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < cols
        x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
        tl.store(out_ptr + row * cols + offsets, (x - peak) - tl.log(total), mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    log_softmax_kernel[(rows,)](x, out, cols)
    return out
