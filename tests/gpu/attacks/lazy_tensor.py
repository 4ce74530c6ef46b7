"""Attack: lazy_tensor

Tries: returns a tensor subclass that computes when it is looked at.
Gains: Work outside the clock, inside the comparison.
Threats: T5, T6
Answer: Outputs are plain tensors of the trace, or there is no plan.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * cols + offsets, e / tl.sum(e, axis=0), mask=mask)


def softmax(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out


class Lazy(torch.Tensor):
    @staticmethod
    def __new__(cls, x):
        return torch.Tensor._make_wrapper_subclass(cls, x.shape, dtype=x.dtype, device=x.device)

    def __init__(self, x):
        self.x = x

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        opened = [softmax(one.x) if isinstance(one, Lazy) else one for one in args]
        return func(*opened, **(kwargs or {}))


def run(x):
    return Lazy(x)
