"""positive_mask, flat: bools loaded and stored as such."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, keep_ptr, mask_ptr, kept_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside)
    keep = tl.load(keep_ptr + at, mask=inside).to(tl.int1)
    tl.store(mask_ptr + at, keep & (x > 0), mask=inside)
    tl.store(kept_ptr + at, tl.where(keep, x, 0.0), mask=inside)


def run(x, keep):
    mask = torch.empty_like(keep)
    kept = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 256),)](x, keep, mask, kept, x.numel(), BLOCK=256)
    return mask, kept
