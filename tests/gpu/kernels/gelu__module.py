"""gelu, module: the kernel reads a buffer of a module, and nobody reads its weights."""

import torch
import triton
import triton.language as tl


@triton.jit
def gelu_kernel(x_ptr, factors_ptr, out_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    x = tl.load(x_ptr + at, mask=mask).to(tl.float32)
    y = x * tl.load(factors_ptr) * (1 + tl.erf(x * tl.load(factors_ptr + 1)))
    tl.store(out_ptr + at, y, mask=mask)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("factors", torch.tensor([0.5, 2**-0.5]))
        self.head = torch.nn.Linear(64, 64)

    def forward(self, x):
        out = torch.empty_like(x)
        if x.numel():
            grid = (triton.cdiv(x.numel(), 1024),)
            gelu_kernel[grid](x, self.factors, out, x.numel(), BLOCK=1024)
        return out


def run(x):
    return ModelNew().cuda()(x)
