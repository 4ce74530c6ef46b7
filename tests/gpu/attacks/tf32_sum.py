"""Attack: tf32_sum

Tries: sums squares on the tensor cores, in TF32.
Gains: A reduction for the price of a matrix product.
Threats: S13, S33
Answer: The allowed error is a small multiple of the reference's own against a float64 oracle;
TF32 keeps 11 bits.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def rmsnorm_kernel(x_ptr, weight_ptr, out_ptr, rows, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)
    totals = tl.zeros([16, 16], tl.float32)
    ones = tl.full([BLOCK, 16], 1.0, tl.float32)
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = (row[:, None] < rows) & (offsets[None, :] < cols)
        at = row[:, None] * cols + offsets[None, :]
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
        totals = tl.dot(x * x, ones, totals, input_precision="tf32")
    scale = tl.rsqrt(tl.sum(totals, axis=1) / 16 / cols + 1e-6)
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = (row[:, None] < rows) & (offsets[None, :] < cols)
        at = row[:, None] * cols + offsets[None, :]
        x = tl.load(x_ptr + at, mask=mask, other=0.0).to(tl.float32)
        weight = tl.load(weight_ptr + offsets, mask=offsets < cols, other=0.0).to(tl.float32)
        tl.store(out_ptr + at, x * scale[:, None] * weight[None, :], mask=mask)


def run(x, weight):
    rows, cols = x.shape
    out = torch.empty_like(x)
    rmsnorm_kernel[(triton.cdiv(rows, 16),)](x, weight, out, rows, cols, BLOCK=64)
    return out
