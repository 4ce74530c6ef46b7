"""matmul, device_descriptors: tensor descriptors made in the kernel itself."""

import torch
import triton
import triton.language as tl


@triton.jit
def matmul_described(
    a_ptr, b_ptr, c_ptr, m, n, k,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    a_desc = tl.make_tensor_descriptor(a_ptr, [m, k], [k, 1], [BLOCK_M, BLOCK_K])
    b_desc = tl.make_tensor_descriptor(b_ptr, [k, n], [n, 1], [BLOCK_K, BLOCK_N])
    c_desc = tl.make_tensor_descriptor(c_ptr, [m, n], [n, 1], [BLOCK_M, BLOCK_N])
    row, col = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, k, BLOCK_K):
        a, b = a_desc.load([row, start]), b_desc.load([start, col])
        total = tl.dot(a, b, total, input_precision="ieee")
    c_desc.store([row, col], total.to(c_ptr.dtype.element_ty))


@triton.jit
def matmul_pointers(a_ptr, b_ptr, c_ptr, m, n, k, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, k, BLOCK):
        inner = start + tl.arange(0, BLOCK)
        across, down = inner[None, :], inner[:, None]
        a = tl.load(a_ptr + rows * k + across, mask=(rows < m) & (across < k), other=0.0)
        b = tl.load(b_ptr + down * n + cols, mask=(down < k) & (cols < n), other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee")
    tl.store(c_ptr + rows * n + cols, total, mask=(rows < m) & (cols < n))


def run(a, b):
    m, k = a.shape
    n = b.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)

    def allocate(size, alignment, stream):
        return torch.empty(size, device=a.device, dtype=torch.int8)

    if k * a.element_size() % 16 or n * a.element_size() % 16:
        matmul_pointers[(triton.cdiv(m, 32), triton.cdiv(n, 32))](a, b, c, m, n, k, BLOCK=32)
        return c
    triton.set_allocator(allocate)
    matmul_described[(triton.cdiv(m, 64), triton.cdiv(n, 32))](
        a, b, c, m, n, k, BLOCK_M=64, BLOCK_N=32, BLOCK_K=32
    )
    return c
