"""Attack: patched_recorder

Tries: replaces what it finds of the tracer in this process: the driver, its launcher, the
functions that write plans.
Gains: A plan of its own making.
Threats: X1, X17, T9
Answer: A plan is only data, and an edited one is judged like any other: parsed, audited,
replayed on inputs that it has never seen.
"""

import contextlib
import sys

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


def nothing(*_, **__):
    return None


for name, module in list(sys.modules.items()):
    if name.startswith("ouroboros.trace"):
        for attribute, value in list(vars(module).items()):
            if callable(value) and not attribute.startswith("__"):
                with contextlib.suppress(Exception):
                    setattr(module, attribute, nothing)


def run(x):
    with contextlib.suppress(Exception):
        type(triton.runtime.driver.active).launcher_cls = nothing
    return softmax(x)
