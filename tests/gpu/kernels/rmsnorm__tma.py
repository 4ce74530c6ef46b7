"""rmsnorm, tma: TMA descriptors where the pitch of rows allows it, pointers elsewhere."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def rmsnorm_described(x_desc, weight_ptr, out_desc, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < cols
        x = x_desc.load([row, start]).reshape(BLOCK).to(tl.float32)
        squares += x * x
    scale = tl.rsqrt(tl.sum(squares, axis=0) / cols + 1e-6)
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < cols
        x = x_desc.load([row, start]).reshape(BLOCK).to(tl.float32)
        weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
        out_desc.store([row, start], (x * scale * weight).to(out_desc.dtype).reshape(1, BLOCK))


@triton.jit
def rmsnorm_pointers(x_ptr, weight_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < cols
        x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
        squares += x * x
    scale = tl.rsqrt(tl.sum(squares, axis=0) / cols + 1e-6)
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < cols
        x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
        tl.store(out_ptr + row * cols + offsets, x * scale * weight, mask=mask)


def describe(tensor, block):
    return TensorDescriptor.from_tensor(tensor, [1, block])


def run(x, weight):
    rows, cols = x.shape
    out = torch.empty_like(x)
    block = 256
    if x.numel() and cols * x.element_size() % 16 == 0:
        rmsnorm_described[(rows,)](
            describe(x, block), weight, describe(out, block), cols, BLOCK=block
        )
    else:
        rmsnorm_pointers[(rows,)](x, weight, out, cols, BLOCK=block)
    return out
