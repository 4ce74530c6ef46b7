"""Attack: assembly_exponential

Tries: computes the exponential in half precision by inline assembly, which no interpreter reads.
Gains: Two exponentials for one.
Threats: none of the catalogue
Answer: Replays show the eleven bits. Where there is no GPU the interpreter says that it cannot
tell.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    away = ((x - tl.max(x, axis=0)) * 1.4426950408889634).to(tl.float16)
    e = tl.inline_asm_elementwise(
        "ex2.approx.f16 $0, $1;", "=h,h", [away], dtype=tl.float16, is_pure=True, pack=1
    ).to(tl.float32)
    tl.store(out_ptr + row * cols + offsets, e / tl.sum(e, axis=0), mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out
