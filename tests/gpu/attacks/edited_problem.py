"""Attack: edited_problem

Tries: rewrites the files of problems, tolerances and checks that it finds in the installation.
Gains: A reference that is slow, or a bound that anything meets.
Threats: P18
Answer: The installation can be read there and not be written; the problem was loaded before,
elsewhere.
"""

import contextlib
import sys
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


for folder in {Path(path) / "ouroboros" for path in sys.path}:
    for file in list(folder.glob("**/*.py")) + list(folder.glob("**/*.toml")):
        with contextlib.suppress(OSError):
            file.write_text("")


def run(x):
    return softmax(x)
