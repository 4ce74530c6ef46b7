"""matmul, atomic_split_k: parts of the sum added by atomics in float32, then rounded."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_products(
    a_ptr, b_ptr, total_ptr, m, n, k,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, SPLIT_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.program_id(2) * BLOCK_K + tl.arange(0, BLOCK_K)
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(0, tl.cdiv(k, BLOCK_K * SPLIT_K)):
        a_mask = (rows[:, None] < m) & (inner[None, :] < k)
        b_mask = (inner[:, None] < k) & (cols[None, :] < n)
        a = tl.load(a_ptr + rows[:, None] * k + inner[None, :], mask=a_mask, other=0.0)
        b = tl.load(b_ptr + inner[:, None] * n + cols[None, :], mask=b_mask, other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee")
        inner += BLOCK_K * SPLIT_K
    mask = (rows[:, None] < m) & (cols[None, :] < n)
    tl.atomic_add(total_ptr + rows[:, None] * n + cols[None, :], total, mask=mask, sem="relaxed")


@triton.jit
def rounded(total_ptr, c_ptr, count, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(total_ptr + offsets, mask=offsets < count)
    tl.store(c_ptr + offsets, total.to(c_ptr.type.element_ty), mask=offsets < count)


def run(a, b):
    m, k = a.shape
    _, n = b.shape
    total = torch.zeros((m, n), device=a.device, dtype=torch.float32)
    add_products[(triton.cdiv(m, 32), triton.cdiv(n, 64), 4)](
        a, b, total, m, n, k, BLOCK_M=32, BLOCK_N=64, BLOCK_K=32, SPLIT_K=4
    )
    if a.dtype == torch.float32:
        return total
    c = torch.empty_like(total, dtype=a.dtype)
    rounded[(triton.cdiv(m * n, 1024),)](total, c, m * n, BLOCK=1024)
    return c
