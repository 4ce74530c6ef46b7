"""Attack: patched_flush

Tries: replaces whatever would clear the L2 cache or clone inputs between two timed calls.
Gains: Inputs stay in the cache, so every timed call after the first is fast.
Threats: T13
Answer: The referee flushes and draws inputs in processes that never ran this code.
"""

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


for module in (torch.cuda, triton.testing, sys.modules["__main__"]):
    for attribute in list(vars(module)):
        if any(word in attribute for word in ("clear_l2", "empty_cache", "flush", "clone_data")):
            setattr(module, attribute, nothing)
triton.runtime.driver.active.get_empty_cache_for_benchmark = nothing


def run(x):
    return softmax(x)
