"""layernorm, keywords: every argument of the launch by its name, the grid as a function."""

import torch
import triton
import triton.language as tl


@triton.jit
def layernorm_kernel(x_ptr, weight_ptr, bias_ptr, out_ptr, rows, cols, BLOCK: tl.constexpr):
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

    def grid(meta):
        return (meta["rows"],)

    layernorm_kernel[grid](
        x_ptr=x,
        weight_ptr=weight,
        bias_ptr=bias,
        out_ptr=out,
        rows=rows,
        cols=cols,
        BLOCK=triton.next_power_of_2(cols),
        num_warps=8,
        num_stages=1,
    )
    return out
