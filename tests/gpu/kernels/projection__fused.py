"""projection, fused: product and softmax in one kernel, a block of rows a program, two passes."""

import torch
import triton
import triton.language as tl


@triton.jit
def scores_of(x_ptr, w_ptr, rows, cols, n, k, m, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    total = tl.zeros((rows.shape[0], BLOCK_N), tl.float32)
    for start in range(0, k, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        x = tl.load(
            x_ptr + rows[:, None] * k + inner[None, :],
            mask=(rows < m)[:, None] & (inner < k)[None, :],
            other=0.0,
        )
        w = tl.load(
            w_ptr + inner[:, None] * n + cols[None, :],
            mask=(inner < k)[:, None] & (cols < n)[None, :],
            other=0.0,
        )
        total = tl.dot(x, w, total, input_precision="ieee")
    # As the reference does between its two steps.
    total = total.to(x_ptr.dtype.element_ty).to(tl.float32)
    return tl.where((cols < n)[None, :], total, float("-inf"))


@triton.jit
def kernel(
    x_ptr, w_ptr, out_ptr, m, n, k,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    peak = tl.full((BLOCK_M,), float("-inf"), tl.float32)
    norm = tl.zeros((BLOCK_M,), tl.float32)
    for start in range(0, n, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        scores = scores_of(x_ptr, w_ptr, rows, cols, n, k, m, BLOCK_N, BLOCK_K)
        higher = tl.maximum(peak, tl.max(scores, axis=1))
        norm = norm * tl.exp(peak - higher) + tl.sum(tl.exp(scores - higher[:, None]), axis=1)
        peak = higher
    for start in range(0, n, BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        scores = scores_of(x_ptr, w_ptr, rows, cols, n, k, m, BLOCK_N, BLOCK_K)
        out = tl.exp(scores - peak[:, None]) / norm[:, None]
        at = out_ptr + rows[:, None] * n + cols[None, :]
        tl.store(at, out, mask=(rows < m)[:, None] & (cols < n)[None, :])


def run(x, weight):
    m, k = x.shape
    n = weight.shape[1]
    out = torch.empty((m, n), dtype=x.dtype, device=x.device)
    kernel[(triton.cdiv(m, 32),)](x, weight, out, m, n, k, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32)
    return out
