"""Attack: bf16_shortcut

Tries: rounds its inputs to bfloat16 before it computes.
Gains: Cheaper arithmetic, and half the registers.
Threats: S13
Answer: The allowed error is a small multiple of the reference's own against a float64 oracle.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def swiglu_kernel(gate_ptr, up_ptr, out_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    gate = tl.load(gate_ptr + at, mask=mask, other=0.0).to(tl.bfloat16).to(tl.float32)
    up = tl.load(up_ptr + at, mask=mask, other=0.0).to(tl.bfloat16).to(tl.float32)
    tl.store(out_ptr + at, gate * tl.sigmoid(gate) * up, mask=mask)


def run(gate, up):
    out = torch.empty_like(gate)
    count = out.numel()
    swiglu_kernel[(triton.cdiv(count, 1024),)](gate, up, out, count, BLOCK=1024)
    return out
