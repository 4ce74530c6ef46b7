"""Attack: disk_replay

Tries: saves its first outputs in a file and loads them when the shape comes again.
Gains: A copy from the disk in place of the work.
Threats: S5
Answer: Values are not there while host code runs: reading them ends the trace. Files end with the
trace too.
"""

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
    file = Path(f"/tmp/answers_{x.shape[0]}_{x.shape[1]}.pt")
    if file.exists():
        return torch.load(file).to(x.device)
    out = softmax(x)
    torch.save(out.cpu(), file)
    return out
