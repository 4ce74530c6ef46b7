"""matmul, persistent: as many programs as multiprocessors, tiles in grouped order."""

import torch
import triton
import triton.language as tl


@triton.jit
def place(tile, tiles_m, tiles_n, GROUP: tl.constexpr):
    """Which tile of rows and of columns is number `tile`."""
    in_group = GROUP * tiles_n
    first = (tile // in_group) * GROUP
    size = tl.minimum(tiles_m - first, GROUP)
    return first + (tile % in_group) % size, (tile % in_group) // size


@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, m, n, k, PROGRAMS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    tiles_m = tl.cdiv(m, BLOCK_M)
    tiles_n = tl.cdiv(n, BLOCK_N)
    for tile in tl.range(tl.program_id(0), tiles_m * tiles_n, PROGRAMS, flatten=True):
        row, col = place(tile, tiles_m, tiles_n, GROUP)
        rows = row * BLOCK_M + tl.arange(0, BLOCK_M)
        cols = col * BLOCK_N + tl.arange(0, BLOCK_N)
        safe_rows = tl.max_contiguous(tl.multiple_of(tl.where(rows < m, rows, 0), BLOCK_M), BLOCK_M)
        safe_cols = tl.max_contiguous(tl.multiple_of(tl.where(cols < n, cols, 0), BLOCK_N), BLOCK_N)
        total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for start in tl.range(0, k, BLOCK_K, num_stages=2):
            inner = start + tl.arange(0, BLOCK_K)
            a = tl.load(
                a_ptr + safe_rows[:, None] * k + inner[None, :], mask=inner[None, :] < k, other=0.0
            )
            b = tl.load(
                b_ptr + inner[:, None] * n + safe_cols[None, :], mask=inner[:, None] < k, other=0.0
            )
            total = tl.dot(a, b, total, input_precision="ieee")
        tl.store(
            c_ptr + rows[:, None] * n + cols[None, :],
            total.to(c_ptr.dtype.element_ty),
            mask=(rows[:, None] < m) & (cols[None, :] < n),
        )


def run(a, b):
    m, k = a.shape
    n = b.shape[1]
    c = torch.empty((m, n), dtype=a.dtype, device=a.device)
    multiprocessors = torch.cuda.get_device_properties(a.device).multi_processor_count
    programs = min(multiprocessors, triton.cdiv(m, 32) * triton.cdiv(n, 32))
    matmul_kernel[(programs,)](
        a, b, c, m, n, k, PROGRAMS=programs, BLOCK_M=32, BLOCK_N=32, BLOCK_K=32, GROUP=4
    )
    return c
