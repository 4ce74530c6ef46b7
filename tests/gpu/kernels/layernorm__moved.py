"""layernorm, moved: the host makes float32 of the inputs and rounds the result."""

import torch
import triton
import triton.language as tl


@triton.jit
def layernorm_kernel(x_ptr, weight_ptr, bias_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=0.0)
    mean = tl.sum(x, axis=0) / cols
    centred = tl.where(mask, x - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / cols + 1e-5)
    weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0)
    bias = tl.load(bias_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + row * cols + offsets, centred * scale * weight + bias, mask=mask)


def run(x, weight, bias):
    rows, cols = x.shape
    x32, weight, bias = x.float(), weight.float(), bias.float()
    out = torch.empty_like(x32)
    block = triton.next_power_of_2(cols)
    layernorm_kernel[(rows,)](
        x32, weight, bias, out, cols, BLOCK=block, num_warps=min(max(block // 512, 1), 16)
    )
    return out.to(x.dtype)
