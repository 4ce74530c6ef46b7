"""Attack: superbatch

Tries: collects its calls, launches nothing, and computes all of them in the fifteenth.
Gains: One launch for fifteen calls: a gain of up to 3.9 on a public leaderboard.
Threats: T8
Answer: A plan is what a first call launches, and this one launches nothing.
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


def softmax(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out


WAITING = []


def run(x):
    out = torch.empty_like(x)
    WAITING.append((x, out))
    if len(WAITING) == 15:
        for waiting, result in WAITING:
            result.copy_(softmax(waiting))
        WAITING.clear()
    return out
