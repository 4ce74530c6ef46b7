"""layernorm, heuristics: one program a row, launch options from heuristics."""

import torch
import triton
import triton.language as tl


@triton.heuristics(
    {
        "BLOCK": lambda args: triton.next_power_of_2(args["cols"]),
        "num_warps": lambda args: 1 if args["cols"] <= 512 else 4 if args["cols"] <= 4096 else 16,
    }
)
@triton.jit
def layernorm_kernel(x_ptr, weight_ptr, bias_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / cols
    centred = tl.where(mask, x - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / cols + 1e-5)
    weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * cols + offsets, (x - mean) * scale * weight + bias, mask=mask)


def run(x, weight, bias):
    rows, cols = x.shape
    out = torch.empty_like(x)
    layernorm_kernel[(rows,)](x, weight, bias, out, cols)
    return out
