"""Attack: forged_sources

Tries: reaches the recorder through an attribute of its decoy and puts the source of an honest
kernel beside the launch of another.
Gains: A machine without a GPU, which interprets sources, calls a cheat correct.
Threats: none of the catalogue
Answer: What the recorded source compiles to is not the image that the plan holds.
"""

import dataclasses

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * cols + offsets, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def copy_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * cols + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < cols
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=mask), mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    block = triton.next_power_of_2(cols)
    launches = getattr(getattr(x, "recorder", None), "launches", [None])
    softmax_kernel[(rows,)](x, out, cols, BLOCK=block)
    shown = launches.pop() if launches else None
    copy_kernel[(rows,)](x, out, cols, BLOCK=block)
    if shown:
        launches[-1] = dataclasses.replace(launches[-1], source=shown.source)
    return out
