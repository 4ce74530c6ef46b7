"""linear_relu, moved: the weight transposed in memory, the sum rounded on the host."""

import torch
import triton
import triton.language as tl


@triton.jit
def linear_kernel(
    x_ptr, wt_ptr, b_ptr, y_ptr, m, n, k,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    for start in range(0, k, BLOCK_K):
        at = start + tl.arange(0, BLOCK_K)
        x_mask = (rows[:, None] < m) & (at[None, :] < k)
        w_mask = (at[:, None] < k) & (cols[None, :] < n)
        x = tl.load(x_ptr + rows[:, None] * k + at[None, :], mask=x_mask, other=0.0)
        w = tl.load(wt_ptr + at[:, None] * n + cols[None, :], mask=w_mask, other=0.0)
        total = tl.dot(x, w, acc=total, input_precision="ieee")
    bias = tl.load(b_ptr + cols, mask=cols < n, other=0.0).to(tl.float32)
    total = tl.maximum(total + bias[None, :], 0.0, propagate_nan=tl.PropagateNan.ALL)
    at = y_ptr + rows[:, None] * n + cols[None, :]
    tl.store(at, total, mask=(rows[:, None] < m) & (cols[None, :] < n))


def run(x, weight, bias):
    m, k = x.shape
    n = weight.size(0)
    y = torch.empty((m, n), device=x.device, dtype=torch.float32)
    linear_kernel[(triton.cdiv(m, 32), triton.cdiv(n, 32))](
        x, weight.t().contiguous(), bias, y, m, n, k, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32
    )
    return y.to(x.dtype)
