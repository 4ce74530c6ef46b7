"""padded_softmax, tested: what the mask leaves is loaded, and the rest is minus infinity."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(scores_ptr, mask_ptr, out_ptr, queries, keys, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    at = tl.arange(0, BLOCK)
    inside = at < keys
    left = tl.load(mask_ptr + row // queries * keys + at, mask=inside, other=0.0) != 0.0
    x = tl.load(scores_ptr + row * keys + at, mask=left, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * keys + at, e / tl.sum(e, axis=0), mask=inside)


def run(scores, mask):
    batch, queries, keys = scores.shape
    out = torch.empty_like(scores)
    kernel[(batch * queries,)](scores, mask, out, queries, keys, BLOCK=triton.next_power_of_2(keys))
    return out
