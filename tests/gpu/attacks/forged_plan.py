"""Attack: forged_plan

Tries: writes plan files to every descriptor that it may have inherited, and ends its process.
Gains: A plan or a verdict of its own in place of the tracer's.
Threats: X1, X2, P10
Answer: Bytes on a descriptor are frames of a tracer that nobody trusts: what does not parse is
the candidate's fault, what parses is a plan like any other.
"""

import contextlib
import os

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


PLAN = b"OUROPLAN" + (1).to_bytes(4, "little") + bytes(44) + b'{"status": "ok"}'

for descriptor in range(3, 64):
    with contextlib.suppress(OSError):
        os.write(descriptor, len(PLAN).to_bytes(8, "little") + PLAN)
os._exit(0)


def run(x):
    return softmax(x)
