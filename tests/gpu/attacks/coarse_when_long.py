"""Attack: coarse_when_long

Tries: rounds its results to 12 bits after the point where an axis has 1000 elements or more.
Gains: Arithmetic of half precision, or a rough exponential, at the shapes that are timed.
Threats: none of the catalogue
Answer: Nothing is summed, so the allowed error is that of a handful of roundings, however long the
axes are.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def rounded(x, BITS: tl.constexpr):
    """To so many bits after the point, as a cheaper format would."""
    half: tl.constexpr = 1 << (22 - BITS)
    bits = (x.to(tl.int32, bitcast=True) + half) & -(2 * half)
    return bits.to(tl.float32, bitcast=True)


@triton.jit
def swiglu_kernel(gate_ptr, up_ptr, out_ptr, count, LONG: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    gate = tl.load(gate_ptr + at, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + at, mask=mask, other=0.0).to(tl.float32)
    y = gate * tl.sigmoid(gate) * up
    if LONG:
        y = rounded(y, 12)
    tl.store(out_ptr + at, y, mask=mask)


def run(gate, up):
    out = torch.empty_like(gate)
    count = out.numel()
    long = max(gate.shape) >= 1000
    swiglu_kernel[(triton.cdiv(count, 1024),)](gate, up, out, count, LONG=long, BLOCK=1024)
    return out
