"""Attack: autotune_flood

Tries: offers three hundred configurations that differ in nothing.
Gains: As many draws of the clock, of which the luckiest counts.
Threats: X18
Answer: Configurations that launch the same are one variant, at most sixteen are traced, and the
blocks that choose one are not those that measure it: the rest of them gain nothing.
"""

import torch
import triton
import triton.language as tl

CONFIGS = [triton.Config({"BLOCK": 1024, "TAG": n}, num_warps=4) for n in range(300)]


@triton.autotune(configs=CONFIGS, key=["cols"])
@triton.jit
def softmax_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr, TAG: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    peak = tl.full([BLOCK], -float("inf"), tl.float32)
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < cols
        x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
        peak = tl.maximum(peak, x)
    peak = tl.max(peak, axis=0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < cols
        x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
        total += tl.exp(x - peak)
    total = tl.sum(total, axis=0)
    for start in range(0, cols, BLOCK):
        offsets = start + tl.arange(0, BLOCK)
        mask = offsets < cols
        x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
        tl.store(out_ptr + row * cols + offsets, tl.exp(x - peak) / total, mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](x, out, cols)
    return out
