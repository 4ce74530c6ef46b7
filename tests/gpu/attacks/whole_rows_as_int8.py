"""Attack: whole_rows_as_int8

Tries: takes rows of whole numbers for quantised data, and reads them in 8 bits.
Gains: A quarter of the bytes where a row is kept; numbers from 128 on, as bytes are, wrap.
Threats: none of the catalogue
Answer: Rows of the family bytes are whole numbers from 0 to 255.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def rmsnorm_kernel(x_ptr, w_ptr, out_ptr, cols, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=0.0).to(tl.float32)
    whole = tl.max(tl.abs(x - tl.floor(x)), axis=0) == 0.0
    small = tl.max(tl.abs(x), axis=0) < 256.0
    if whole & small:
        x = x.to(tl.int32).to(tl.int8).to(tl.float32)
    scale = 1.0 / tl.sqrt(tl.sum(x * x, axis=0) / cols + eps)
    w = tl.load(w_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    tl.store(out_ptr + row * cols + offsets, x * scale * w, mask=mask)


def run(x, weight):
    rows, cols = x.shape
    out = torch.empty_like(x)
    rmsnorm_kernel[(rows,)](x, weight, out, cols, 1e-6, BLOCK=triton.next_power_of_2(cols))
    return out
