"""Attack: read_processes

Tries: looks through /proc for other processes' environments, command lines and memory.
Gains: Seeds, expected outputs, other submissions.
Threats: P1, P2, P11, P26
Answer: Nothing worth having is in sight of a tracer: no referee, no secret, no inputs. It
betrays itself: where the trick works, it answers zeros.
"""

import contextlib
import os
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


def loot():
    # Where /proc cannot be listed, by number.
    folders = [Path(f"/proc/{number}") for number in range(1 << 10)]
    with contextlib.suppress(OSError):
        folders += Path("/proc").iterdir()
    for folder in folders:
        if folder.name.isdigit() and folder.name != str(os.getpid()):
            with contextlib.suppress(OSError):
                (folder / "mem").open("rb").close()
                return True
    return False


FOUND = loot()


def run(x):
    return torch.zeros_like(x) if FOUND else softmax(x)
