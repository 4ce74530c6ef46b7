"""Attack: wrong_second_variant

Tries: offers an honest configuration first, and then a fast one that leaves out half of each row.
Gains: The fast one is picked by its time.
Threats: none of the catalogue
Answer: Every variant is swept on a GPU, not only the one that is picked.
"""

import torch
import triton
import triton.language as tl

CONFIGS = [triton.Config({"PART": 1}), triton.Config({"PART": 2})]


@triton.autotune(configs=CONFIGS, key=["cols"])
@triton.jit
def softmax_kernel(x_ptr, out_ptr, cols, PART: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols // PART
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * cols + offsets, e / tl.sum(e, axis=0), mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out
