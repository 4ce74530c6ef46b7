"""softmax, tma: TMA descriptors where the pitch of rows allows it, pointers elsewhere."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def softmax_described(x_desc, out_desc, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    peak = tl.full([BLOCK], -float("inf"), tl.float32)
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < cols
        x = x_desc.load([row, start]).reshape(BLOCK).to(tl.float32)
        x = tl.where(mask, x, -float("inf"))
        peak = tl.maximum(peak, x)
    peak = tl.max(peak, axis=0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < cols
        x = x_desc.load([row, start]).reshape(BLOCK).to(tl.float32)
        x = tl.where(mask, x, -float("inf"))
        total += tl.exp(x - peak)
    total = tl.sum(total, axis=0)
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < cols
        x = x_desc.load([row, start]).reshape(BLOCK).to(tl.float32)
        x = tl.where(mask, x, -float("inf"))
        out_desc.store(
            [row, start], (tl.exp(x - peak) / total).to(out_desc.dtype).reshape(1, BLOCK)
        )


@triton.jit
def softmax_pointers(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    peak = tl.full([BLOCK], -float("inf"), tl.float32)
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < cols
        x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
        peak = tl.maximum(peak, x)
    peak = tl.max(peak, axis=0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < cols
        x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
        total += tl.exp(x - peak)
    total = tl.sum(total, axis=0)
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < cols
        x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
        tl.store(out_ptr + row * cols + offsets, tl.exp(x - peak) / total, mask=mask)


def describe(tensor, block):
    return TensorDescriptor.from_tensor(tensor, [1, block])


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    block = 256
    if x.numel() and cols * x.element_size() % 16 == 0:
        softmax_described[(rows,)](describe(x, block), describe(out, block), cols, BLOCK=block)
    else:
        softmax_pointers[(rows,)](x, out, cols, BLOCK=block)
    return out
