"""swiglu, autotuned: blocks of elements, the block's size chosen by measuring."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[
        triton.Config({"BLOCK": 512}, num_warps=4),
        triton.Config({"BLOCK": 1024}, num_warps=4),
        triton.Config({"BLOCK": 2048}, num_warps=8),
    ],
    key=["count"],
)
@triton.jit
def swiglu_kernel(gate_ptr, up_ptr, out_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    gate = tl.load(gate_ptr + at, mask=mask, other=0.0).to(tl.float32)
    up = tl.load(up_ptr + at, mask=mask, other=0.0).to(tl.float32)
    y = gate * tl.sigmoid(gate) * up
    tl.store(out_ptr + at, y, mask=mask)


def run(gate, up):
    out = torch.empty_like(gate)
    count = out.numel()

    def grid(meta):
        return (triton.cdiv(count, meta["BLOCK"]),)

    swiglu_kernel[grid](gate, up, out, count)
    return out
