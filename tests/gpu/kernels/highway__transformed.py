"""highway, transformed: what was made, and the opposite gate's share of the difference."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, made_ptr, gate_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_ptr + at, mask=inside).to(tl.float32)
    made = tl.load(made_ptr + at, mask=inside).to(tl.float32)
    opposite = tl.sigmoid(-tl.load(gate_ptr + at, mask=inside).to(tl.float32))
    tl.store(out_ptr + at, made + opposite * (x - made), mask=inside)


def run(x, made, gate):
    out = torch.empty_like(x)
    kernel[(triton.cdiv(x.numel(), 1024),)](x, made, gate, out, x.numel(), BLOCK=1024)
    return out
