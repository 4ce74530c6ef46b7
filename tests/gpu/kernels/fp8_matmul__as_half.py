"""fp8_matmul, as_half: tl.dot of what was cast to float16, which is exact."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(
    a_ptr, b_ptr, sa_ptr, sb_ptr, c_ptr, m, n, k,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, k, BLOCK_K):
        kk = start + tl.arange(0, BLOCK_K)
        a = tl.load(
            a_ptr + rows[:, None] * k + kk[None, :],
            mask=(rows < m)[:, None] & (kk < k)[None, :],
            other=0.0,
        )
        b = tl.load(
            b_ptr + cols[None, :] * k + kk[:, None],
            mask=(cols < n)[None, :] & (kk < k)[:, None],
            other=0.0,
        )
        acc = tl.dot(a.to(tl.float16), b.to(tl.float16), acc)
    sa = tl.load(sa_ptr + rows, mask=rows < m, other=0.0)
    sb = tl.load(sb_ptr + cols, mask=cols < n, other=0.0)
    acc = acc * sa[:, None] * sb[None, :]
    tl.store(
        c_ptr + rows[:, None] * n + cols[None, :],
        acc,
        mask=(rows < m)[:, None] & (cols < n)[None, :],
    )


def run(a, b, scale_a, scale_b):
    m, k = a.shape
    n = b.shape[0]
    c = torch.empty((m, n), dtype=torch.float32, device=a.device)
    kernel[(triton.cdiv(m, 64), triton.cdiv(n, 64))](
        a, b, scale_a, scale_b, c, m, n, k, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32
    )
    return c
