"""matmul, split_k: partial products into scratch, and a second kernel that adds them."""

import torch
import triton
import triton.language as tl

SPLITS = 4


@triton.jit
def partial_products(
    a_ptr, b_ptr, partial_ptr, m, n, k, chunk,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    part = tl.program_id(2)
    end = tl.minimum(k, (part + 1) * chunk)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(part * chunk, end, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        a = tl.load(
            a_ptr + rows[:, None] * k + inner[None, :],
            mask=(rows < m)[:, None] & (inner < end)[None, :],
            other=0.0,
        )
        b = tl.load(
            b_ptr + inner[:, None] * n + cols[None, :],
            mask=(inner < end)[:, None] & (cols < n)[None, :],
            other=0.0,
        )
        total += tl.dot(a, b, input_precision="ieee")
    at = partial_ptr + part.to(tl.int64) * m * n + rows[:, None] * n + cols[None, :]
    tl.store(at, total, mask=(rows < m)[:, None] & (cols < n)[None, :])


@triton.jit
def add_parts(partial_ptr, c_ptr, count, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    total = tl.zeros([BLOCK], tl.float32)
    for part in tl.static_range(PARTS):
        total += tl.load(partial_ptr + part * count + offsets, mask=mask, other=0.0)
    tl.store(c_ptr + offsets, total.to(c_ptr.dtype.element_ty), mask=mask)


def run(a, b):
    m, k = a.shape
    n = b.shape[1]
    c = torch.empty(m, n, dtype=a.dtype, device=a.device)
    partial = torch.empty(SPLITS, m, n, dtype=torch.float32, device=a.device)
    chunk = triton.cdiv(triton.cdiv(k, SPLITS), 32) * 32
    partial_products[(triton.cdiv(m, 64), triton.cdiv(n, 64), SPLITS)](
        a, b, partial, m, n, k, chunk, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32
    )
    add_parts[(triton.cdiv(m * n, 1024),)](partial, c, m * n, PARTS=SPLITS, BLOCK=1024)
    return c
