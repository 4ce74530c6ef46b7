"""variance, welford: count, mean and sum of squares joined by Chan's formula in tl.reduce."""

import torch
import triton
import triton.language as tl


@triton.jit
def join(count_a, mean_a, m2_a, count_b, mean_b, m2_b):
    count = count_a + count_b
    share = tl.where(count > 0, count_b / count, 0.0)
    delta = mean_b - mean_a
    return count, mean_a + delta * share, m2_a + m2_b + delta * delta * count_a * share


@triton.jit
def variance_kernel(x_ptr, variance_ptr, mean_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    count = tl.zeros([BLOCK], tl.float32)
    mean = tl.zeros([BLOCK], tl.float32)
    m2 = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        mask = at < cols
        x = tl.load(x_ptr + row * cols + at, mask=mask, other=0.0).to(tl.float32)
        new_count = count + 1.0
        delta = x - mean
        new_mean = mean + delta / new_count
        m2 = tl.where(mask, m2 + delta * (x - new_mean), m2)
        mean = tl.where(mask, new_mean, mean)
        count = tl.where(mask, new_count, count)
    count, mean, m2 = tl.reduce((count, mean, m2), 0, join)
    tl.store(variance_ptr + row, m2 / cols)
    tl.store(mean_ptr + row, mean)


def run(x):
    rows, cols = x.shape
    variance = torch.empty(rows, dtype=x.dtype, device=x.device)
    mean = torch.empty_like(variance)
    variance_kernel[(rows,)](x, variance, mean, cols, BLOCK=256)
    return variance, mean
