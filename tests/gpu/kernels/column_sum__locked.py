"""column_sum, locked: programs take turns by a lock, as in gradients of layernorm."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_rows(
    x_ptr, total_ptr, lock_ptr, rows, cols,
    GROUPS: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr,
):  # fmt: skip
    group = tl.program_id(1) % GROUPS
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    mask = (row[:, None] < rows) & (col[None, :] < cols)
    x = tl.load(x_ptr + row[:, None] * cols + col[None, :], mask=mask, other=0.0)
    part = tl.sum(x.to(tl.float32), axis=0)
    lock_ptr += tl.program_id(0) * GROUPS + group
    total_ptr += group * cols + col
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    part += tl.load(total_ptr, mask=col < cols, other=0.0, cache_modifier=".cg")
    tl.store(total_ptr, part, mask=col < cols, cache_modifier=".cg")
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)


@triton.jit
def add_groups(total_ptr, out_ptr, cols, GROUPS: tl.constexpr, COLS: tl.constexpr):
    col = tl.program_id(0) * COLS + tl.arange(0, COLS)
    group = tl.arange(0, GROUPS)
    parts = tl.load(
        total_ptr + group[:, None] * cols + col[None, :], mask=(col < cols)[None, :], other=0.0
    )
    tl.store(out_ptr + col, tl.sum(parts, axis=0), mask=col < cols)


def run(x):
    rows, cols = x.shape
    groups = 4
    blocks = triton.cdiv(cols, 64)
    total = torch.zeros((groups, cols), dtype=torch.float32, device=x.device)
    locks = torch.zeros(blocks * groups, dtype=torch.int32, device=x.device)
    out = torch.empty((cols,), dtype=x.dtype, device=x.device)
    add_rows[(blocks, triton.cdiv(rows, 8))](
        x, total, locks, rows, cols, GROUPS=groups, ROWS=8, COLS=64
    )
    add_groups[(blocks,)](total, out, cols, GROUPS=groups, COLS=64)
    return out
