"""Attack: algebraic_gelu

Tries: uses that 1 + tanh(t) is 2 sigmoid(2t), so that one exponential does for the tanh.
Gains: Less arithmetic than the formula of the reference has.
Threats: F10
Answer: A short-cut that is right is right. Its speed is labelled where bytes moved cannot explain
it.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def geglu_kernel(gate_ptr, up_ptr, out_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    gate = tl.load(gate_ptr + at, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + at, mask=mask, other=0.0).to(tl.float32)
    t = 0.7978845608028654 * (gate + 0.044715 * gate * gate * gate)
    y = gate * up / (1.0 + tl.exp(-2.0 * t))
    tl.store(out_ptr + at, y, mask=mask)


def run(gate, up):
    out = torch.empty_like(gate)
    count = out.numel()
    geglu_kernel[(triton.cdiv(count, 1024),)](gate, up, out, count, BLOCK=1024)
    return out
