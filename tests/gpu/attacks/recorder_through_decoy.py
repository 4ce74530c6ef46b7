"""Attack: recorder_through_decoy

Tries: reaches the recorder through an attribute of its decoy and shrinks the grid of what it
launched.
Gains: One row is computed where all are credited.
Threats: none of the catalogue
Answer: Only the plan counts where there is a GPU: its replays show what was compiled.
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


def softmax(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out


def run(x):
    out = softmax(x)
    launches = getattr(getattr(x, "recorder", None), "launches", [])
    launches[:] = [dataclasses.replace(launch, grid=(1, 1, 1)) for launch in launches]
    return out
