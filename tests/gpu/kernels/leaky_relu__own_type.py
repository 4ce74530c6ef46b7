"""leaky_relu, own_type: computed in the type of the input, with a wrapper class around it."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, SLOPE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    x = tl.load(x_ptr + at, mask=mask, other=0.0)
    tl.store(out_ptr + at, tl.maximum(x, 0.0) + SLOPE * tl.minimum(x, 0.0), mask=mask)


class LeakyReLU(torch.nn.Module):
    def __init__(self, slope=0.01, block=1024):
        super().__init__()
        self.slope = slope
        self.block = block

    def forward(self, x):
        flat = x.reshape(-1)
        out = torch.empty_like(flat)
        grid = (triton.cdiv(flat.numel(), self.block),)
        kernel[grid](flat, out, flat.numel(), SLOPE=self.slope, BLOCK=self.block, num_warps=4)
        return out.reshape(x.shape)


model = LeakyReLU()


def run(x):
    with torch.no_grad():
        return model(x)
