"""mean_all, last_program: the program that is last, by a counter, adds what all have left."""

import torch
import triton
import triton.language as tl


@triton.jit
def mean_kernel(x_ptr, partial_ptr, counter_ptr, out_ptr, count, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    programs = tl.num_programs(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(pid * BLOCK, count, programs * BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + at, mask=at < count, other=0.0).to(tl.float32)
    tl.store(partial_ptr + pid, tl.sum(total))
    tl.debug_barrier()
    if tl.atomic_add(counter_ptr, 1, sem="acq_rel") == programs - 1:
        at = tl.arange(0, BLOCK)
        parts = tl.load(partial_ptr + at, mask=at < programs, other=0.0, cache_modifier=".cg")
        tl.store(out_ptr, tl.sum(parts) / count)


def run(x):
    programs = min(64, triton.cdiv(x.numel(), 256))
    partial = torch.empty(programs, device=x.device)
    counter = torch.zeros(1, dtype=torch.int32, device=x.device)
    out = torch.empty([], device=x.device, dtype=x.dtype)
    mean_kernel[(programs,)](x, partial, counter, out, x.numel(), BLOCK=256)
    return out
