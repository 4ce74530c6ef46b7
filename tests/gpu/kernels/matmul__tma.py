"""matmul, tma: tensor descriptors made on the host where pitches allow, pointers elsewhere."""

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def matmul_described(
    a_desc, b_desc, c_desc, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr
):
    row = tl.program_id(0) * BLOCK_M
    col = tl.program_id(1) * BLOCK_N
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, k, BLOCK_K):
        a = a_desc.load([row, start])
        b = b_desc.load([start, col])
        total = tl.dot(a, b, total, input_precision="ieee")
    c_desc.store([row, col], total.to(c_desc.dtype))


@triton.jit
def matmul_pointers(
    a_ptr, b_ptr, c_ptr, m, n, k,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, k, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K)
        across, down = inner[None, :], inner[:, None]
        a = tl.load(a_ptr + rows * k + across, mask=(rows < m) & (across < k), other=0.0)
        b = tl.load(b_ptr + down * n + cols, mask=(down < k) & (cols < n), other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee")
    tl.store(c_ptr + rows * n + cols, total, mask=(rows < m) & (cols < n))


def run(a, b):
    m, k = a.shape
    n = b.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    blocks = {"BLOCK_M": 64, "BLOCK_N": 32, "BLOCK_K": 32}
    grid = (triton.cdiv(m, 64), triton.cdiv(n, 32))
    if k * a.element_size() % 16 == 0 and n * a.element_size() % 16 == 0:
        a_desc = TensorDescriptor(a, [m, k], [k, 1], [64, 32])
        b_desc = TensorDescriptor.from_tensor(b, block_shape=[32, 32])
        c_desc = TensorDescriptor.from_tensor(c, block_shape=[64, 32])
        matmul_described[grid](a_desc, b_desc, c_desc, k, **blocks)
    else:
        matmul_pointers[grid](a, b, c, m, n, k, **blocks)
    return c
