"""swiglu, heuristics: blocks of elements, without a mask where the last block is full."""

import torch
import triton
import triton.language as tl


@triton.heuristics({"EVEN": lambda args: args["count"] % args["BLOCK"] == 0})
@triton.jit
def swiglu_kernel(gate_ptr, up_ptr, out_ptr, count, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        gate = tl.load(gate_ptr + at).to(tl.float32)
        up = tl.load(up_ptr + at).to(tl.float32)
    else:
        gate = tl.load(gate_ptr + at, mask=at < count, other=0.0).to(tl.float32)
        up = tl.load(up_ptr + at, mask=at < count, other=0.0).to(tl.float32)
    y = gate * tl.sigmoid(gate) * up
    if EVEN:
        tl.store(out_ptr + at, y)
    else:
        tl.store(out_ptr + at, y, mask=at < count)


def run(gate, up):
    out = torch.empty_like(gate)
    count = out.numel()
    swiglu_kernel[(triton.cdiv(count, 2048),)](gate, up, out, count, BLOCK=2048)
    return out
