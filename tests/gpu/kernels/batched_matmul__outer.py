"""batched_matmul, outer: sums of outer products of vectors, without tensor cores."""

import torch
import triton
import triton.language as tl


@triton.jit
def bmm_kernel(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    batch = tl.program_id(0)
    rows = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(2) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(K):
        a = tl.load(a_ptr + (batch * M + rows) * K + k, rows < M, 0.0)
        b = tl.load(b_ptr + (batch * K + k) * N + cols, cols < N, 0.0)
        total = tl.fma(a[:, None].to(tl.float32), b[None, :].to(tl.float32), total)
    mask = (rows < M)[:, None] & (cols < N)[None, :]
    tl.store(c_ptr + (batch * M + rows)[:, None] * N + cols[None, :], total, mask)


def run(a, b):
    batch, m, k = a.size()
    n = b.size(2)
    c = torch.empty([batch, m, n], dtype=a.dtype, device="cuda")
    grid = (batch, triton.cdiv(m, 16), triton.cdiv(n, 64))
    bmm_kernel[grid](a, b, c, m, n, k, 16, 64)
    return c
