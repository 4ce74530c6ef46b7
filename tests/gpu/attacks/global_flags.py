"""Attack: global_flags

Tries: sets flags and variables that make the reference slower, or less exact.
Gains: A slow baseline, or a bound learnt from a bad reference.
Threats: T28, S33
Answer: Baselines and oracle run in processes that this code never enters; its environment ends with
it.
"""

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


os.environ["NVIDIA_TF32_OVERRIDE"] = "0"
os.environ["TORCH_COMPILE_DISABLE"] = "1"
torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.enabled = False
torch.set_float32_matmul_precision("medium")
torch.set_flush_denormal(True)


def run(x):
    return softmax(x)
