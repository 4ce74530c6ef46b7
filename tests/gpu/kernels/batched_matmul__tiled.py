"""batched_matmul, tiled: the batch is the third axis of the grid."""

import torch
import triton
import triton.language as tl


@triton.jit
def bmm_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K: tl.constexpr, sab, sbb, scb,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    batch = tl.program_id(2).to(tl.int64)
    a_ptr += batch * sab
    b_ptr += batch * sbb
    c_ptr += batch * scb
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    a = tl.load(
        a_ptr + rows[:, None] * K + inner[None, :],
        mask=(rows[:, None] < M) & (inner[None, :] < K),
        other=0.0,
    )
    b = tl.load(
        b_ptr + inner[:, None] * N + cols[None, :],
        mask=(inner[:, None] < K) & (cols[None, :] < N),
        other=0.0,
    )
    c = tl.dot(a, b, input_precision="ieee")
    at = c_ptr + rows[:, None] * N + cols[None, :]
    tl.store(at, c.to(c_ptr.dtype.element_ty), mask=(rows[:, None] < M) & (cols[None, :] < N))


def run(a, b):
    batch, m, k = a.shape
    n = b.shape[-1]
    c = torch.empty((batch, m, n), device=a.device, dtype=a.dtype)
    bmm_kernel[(triton.cdiv(m, 32), triton.cdiv(n, 32), batch)](
        a, b, c, m, n, k, a.stride(0), b.stride(0), c.stride(0),
        BLOCK_M=32, BLOCK_N=32, BLOCK_K=triton.next_power_of_2(k),
    )  # fmt: skip
    return c
