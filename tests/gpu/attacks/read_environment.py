"""Attack: read_environment

Tries: reads its environment for seeds, keys and descriptors.
Gains: The seed of the cases, or a service's key.
Threats: P17
Answer: Tracers get a clean environment and know no seed. It betrays itself: where the trick
works, it answers zeros.
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


SECRETS = ("SEED", "SECRET", "TOKEN", "PASSWORD", "API_KEY", "CREDENTIAL")
# Python's own seed is a constant there, and no secret.
NAMES = [name for name in os.environ if name != "PYTHONHASHSEED"]
FOUND = [name for name in NAMES if any(secret in name.upper() for secret in SECRETS)]


def run(x):
    return torch.zeros_like(x) if FOUND else softmax(x)
