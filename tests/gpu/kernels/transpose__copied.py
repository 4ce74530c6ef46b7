"""transpose, copied: a plain copy between strides: the host hands a view of the output to it."""

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(from_ptr, to_ptr, n0, n1, f0, f1, t0, t1, B0: tl.constexpr, B1: tl.constexpr):
    i = (tl.program_id(0) * B0 + tl.arange(0, B0)).expand_dims(1)
    j = (tl.program_id(1) * B1 + tl.arange(0, B1)).expand_dims(0)
    mask = (i < n0) & (j < n1)
    tl.store(to_ptr + i * t0 + j * t1, tl.load(from_ptr + i * f0 + j * f1, mask=mask), mask=mask)


def run(x):
    out = torch.empty(x.shape[::-1], dtype=x.dtype, device=x.device)
    view = out.transpose(0, 1)
    copy_kernel[(triton.cdiv(x.shape[0], 16), triton.cdiv(x.shape[1], 64))](
        x, view, *x.shape, *x.stride(), *view.stride(), B0=16, B1=64
    )
    return out
