"""add_rmsnorm, keywords: every argument of the launch by its name, the grid as a function."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_rmsnorm_kernel(
    x_ptr, residual_ptr, weight_ptr, out_ptr, sum_ptr, rows, cols, BLOCK: tl.constexpr
):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
    x += tl.load(residual_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(x * x, axis=0) / cols + 1e-6)
    weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * cols + offsets, x * scale * weight, mask=mask)
    tl.store(sum_ptr + row * cols + offsets, x, mask=mask)


def run(x, residual, weight):
    rows, cols = x.shape
    out = torch.empty_like(x)
    sum_out = torch.empty_like(x)

    def grid(meta):
        return (meta["rows"],)

    add_rmsnorm_kernel[grid](
        x_ptr=x,
        residual_ptr=residual,
        weight_ptr=weight,
        out_ptr=out,
        sum_ptr=sum_out,
        rows=rows,
        cols=cols,
        BLOCK=triton.next_power_of_2(cols),
        num_warps=8,
        num_stages=1,
    )
    return out, sum_out
