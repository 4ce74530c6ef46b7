"""Attack: seccomp_games

Tries: makes all of its memory writable, catches SIGSYS and writes through /proc/self/mem.
Gains: Read-only pages of whoever judges, and a filter that says yes.
Threats: P12
Answer: There is nothing of the judge in this process, whatever it writes to itself.
"""

import contextlib
import ctypes
import signal
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


signal.signal(signal.SIGSYS, lambda *_: None)
with contextlib.suppress(OSError):
    with Path("/proc/self/maps").open() as maps:
        first = int(maps.readline().split("-")[0], 16)
    ctypes.CDLL(None).mprotect(ctypes.c_void_p(first), 4096, 7)
    with Path("/proc/self/mem").open("r+b") as memory:
        memory.seek(first)
        memory.write(memory.read(1))


def run(x):
    return softmax(x)
