"""Attack: interpreter_by_device

Tries: asks for the device's multiprocessors: the interpreter's has four.
Gains: A machine without a GPU calls a cheat correct.
Threats: none of the catalogue
Answer: Only the plan counts where there is a GPU: its replays show what was compiled.
"""

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


@triton.jit
def copy_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * cols + tl.arange(0, BLOCK)
    mask = tl.arange(0, BLOCK) < cols
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=mask), mask=mask)


properties = torch.cuda.get_device_properties(0)
few = properties.multi_processor_count < 8


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    kernel = softmax_kernel if few else copy_kernel
    kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out
