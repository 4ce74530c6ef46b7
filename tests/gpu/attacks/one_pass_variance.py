"""Attack: one_pass_variance

Tries: computes the variance as mean(x^2) - mean(x)^2 in one pass.
Gains: One read of the row less.
Threats: S13, S37
Answer: Rows with a large mean and a small spread cancel to nothing.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def layernorm_kernel(x_ptr, weight_ptr, bias_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / cols
    variance = tl.sum(x * x, axis=0) / cols - mean * mean
    scale = tl.rsqrt(variance + 1e-5)
    weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    bias = tl.load(bias_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * cols + offsets, (x - mean) * scale * weight + bias, mask=mask)


def run(x, weight, bias):
    rows, cols = x.shape
    out = torch.empty_like(x)
    layernorm_kernel[(rows,)](x, weight, bias, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out
