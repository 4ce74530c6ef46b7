"""Attack: delete_files

Tries: deletes every file that it may: its own, the compiler's cache, the installation.
Gains: A broken worker, whose failures count as the machine's.
Threats: P14, P23, X11
Answer: All but a folder of its own is read-only. A candidate without its source is a candidate
that fails.
"""

import shutil
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
    for folder in (Path.cwd(), Path(__file__).parent, Path(torch.__file__).parent):
        shutil.rmtree(folder, ignore_errors=True)
    return softmax(x)
