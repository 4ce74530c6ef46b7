"""mean_all, two_stage: partial sums into scratch, one program for the rest."""

import torch
import triton
import triton.language as tl


@triton.jit
def partial_sums(x_ptr, partial_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < count, other=0.0).to(tl.float32)
    tl.store(partial_ptr + tl.program_id(0), tl.sum(x, axis=0))


@triton.jit
def finish(partial_ptr, out_ptr, parts, count, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, parts, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(partial_ptr + at, mask=at < parts, other=0.0)
    tl.store(out_ptr, tl.sum(total, axis=0) / count)


def run(x):
    count = x.numel()
    parts = triton.cdiv(count, 1024)
    partial = torch.empty(parts, dtype=torch.float32, device=x.device)
    out = torch.empty((), dtype=x.dtype, device=x.device)
    partial_sums[(parts,)](x, partial, count, BLOCK=1024)
    finish[(1,)](partial, out, parts, count, BLOCK=256)
    return out
