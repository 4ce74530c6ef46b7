"""int8_matmul, tensor_cores: tl.dot of int8, which sums in int32."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(
    a_ptr, b_ptr, c_ptr, m, n, k,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.int32)
    for start in range(0, k, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        a = tl.load(
            a_ptr + rows[:, None] * k + inner[None, :],
            mask=(rows < m)[:, None] & (inner < k)[None, :],
            other=0,
        )
        b = tl.load(
            b_ptr + inner[:, None] * n + cols[None, :],
            mask=(inner < k)[:, None] & (cols < n)[None, :],
            other=0,
        )
        total += tl.dot(a, b, out_dtype=tl.int32)
    mask = (rows < m)[:, None] & (cols < n)[None, :]
    tl.store(c_ptr + rows[:, None] * n + cols[None, :], total, mask=mask)


def run(a, b):
    (m, k), n = a.shape, b.shape[1]
    c = torch.empty((m, n), dtype=torch.int32, device=a.device)
    kernel[(triton.cdiv(m, 32), triton.cdiv(n, 32))](
        a, b, c, m, n, k, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32
    )
    return c
