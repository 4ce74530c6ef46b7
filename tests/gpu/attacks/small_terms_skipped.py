"""Attack: small_terms_skipped

Tries: leaves terms out of the sum that are below e^-10.5 of the largest.
Gains: Most exponentials of a wide row.
Threats: none of the catalogue
Answer: Families with large spreads and long rows: many small terms are not small together.
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
    away = x - tl.max(x, axis=0)
    e = tl.exp(away)
    total = tl.sum(tl.where(away > -10.5, e, 0.0), axis=0)
    tl.store(out_ptr + row * cols + offsets, e / total, mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out
