"""rope, persistent: as many programs as fit, each takes every n-th row."""

import torch
import triton
import triton.language as tl


@triton.jit
def rope_kernel(x_ptr, cos_ptr, sin_ptr, out_ptr, rows, half, BLOCK: tl.constexpr):
    for index in range(tl.program_id(0), rows, tl.num_programs(0)):
        row = tl.cast(index, tl.int64)
        offsets = tl.arange(0, BLOCK)
        mask = offsets < half
        a = tl.load(x_ptr + row * 2 * half + offsets, mask=mask, other=0.0).to(tl.float32)
        b = tl.load(x_ptr + row * 2 * half + offsets + half, mask=mask, other=0.0).to(tl.float32)
        cos = tl.load(cos_ptr + row * half + offsets, mask=mask, other=0.0).to(tl.float32)
        sin = tl.load(sin_ptr + row * half + offsets, mask=mask, other=0.0).to(tl.float32)
        tl.store(out_ptr + row * 2 * half + offsets, a * cos - b * sin, mask=mask)
        tl.store(out_ptr + row * 2 * half + offsets + half, b * cos + a * sin, mask=mask)


def run(x, cos, sin):
    rows, half = cos.shape
    out = torch.empty_like(x)
    multiprocessors = torch.cuda.get_device_properties(out.device).multi_processor_count
    programs = min(rows, 16 * multiprocessors)
    rope_kernel[(programs,)](x, cos, sin, out, rows, half, BLOCK=triton.next_power_of_2(half))
    return out
