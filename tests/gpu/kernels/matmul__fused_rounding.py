"""matmul, fused_rounding: a and b in their own type all the way; the sum is kept in float32."""

import torch
import triton
import triton.language as tl


@triton.heuristics({"EVEN_K": lambda args: args["k"] % args["BLOCK_K"] == 0})
@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, m, n, k,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, EVEN_K: tl.constexpr,
):  # fmt: skip
    pid = tl.program_id(0)
    across = tl.cdiv(n, BLOCK_N)
    rows = (pid // across) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = (pid % across) * BLOCK_N + tl.arange(0, BLOCK_N)
    ram = tl.max_contiguous(tl.multiple_of(rows % m, BLOCK_M), BLOCK_M)
    rbn = tl.max_contiguous(tl.multiple_of(cols % n, BLOCK_N), BLOCK_N)
    rk = tl.arange(0, BLOCK_K)
    a_at = a_ptr + (ram[:, None] * k + rk[None, :])
    b_at = b_ptr + (rk[:, None] * n + rbn[None, :])
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(0, tl.cdiv(k, BLOCK_K)):
        if EVEN_K:
            a = tl.load(a_at)
            b = tl.load(b_at)
        else:
            remaining = k - step * BLOCK_K
            zero = tl.zeros((1, 1), dtype=c_ptr.dtype.element_ty)
            a = tl.load(a_at, mask=rk[None, :] < remaining, other=zero)
            b = tl.load(b_at, mask=rk[:, None] < remaining, other=zero)
        total += tl.dot(a, b, out_dtype=tl.float32, allow_tf32=False)
        a_at += BLOCK_K
        b_at += BLOCK_K * n
    total = total.to(c_ptr.dtype.element_ty)
    mask = (rows < m)[:, None] & (cols < n)[None, :]
    tl.store(c_ptr + (rows[:, None] * n + cols[None, :]), total, mask=mask)


def run(a, b):
    m, k = a.shape
    _, n = b.shape
    c = torch.empty((m, n), device=a.device, dtype=torch.promote_types(a.dtype, b.dtype))
    grid = lambda meta: (  # noqa: E731
        triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),
        1,
        1,
    )
    matmul_kernel[grid](a, b, c, m, n, k, BLOCK_M=32, BLOCK_N=64, BLOCK_K=16)
    return c
