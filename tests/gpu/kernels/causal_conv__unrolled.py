"""causal_conv, unrolled: the taps unrolled, time in blocks."""

import torch
import triton
import triton.language as tl


@triton.jit
def conv_kernel(x_ptr, w_ptr, out_ptr, channels, time, TAPS: tl.constexpr, BLOCK: tl.constexpr):
    line = tl.program_id(0)
    channel = line % channels
    at = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for tap in tl.static_range(TAPS):
        source = at - (TAPS - 1) + tap
        inside = (source >= 0) & (source < time)
        x = tl.load(x_ptr + line * time + source, mask=inside, other=0.0)
        total += x.to(tl.float32) * tl.load(w_ptr + channel * TAPS + tap).to(tl.float32)
    tl.store(out_ptr + line * time + at, total, mask=at < time)


def run(x, weight):
    batch, channels, time = x.shape
    out = torch.empty_like(x)
    conv_kernel[(batch * channels, triton.cdiv(time, 256))](
        x, weight, out, channels, time, TAPS=weight.shape[1], BLOCK=256
    )
    return out
