"""linear_relu, transposed: a view of the weight, loads in its order and tl.trans."""

import triton
import triton.language as tl


@triton.jit
def linear_kernel(
    x_ptr, wt_ptr, b_ptr, y_ptr, m, n, k, sxm, sxk, swk, swn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    total = tl.zeros([BLOCK_M, BLOCK_N], dtype=tl.float32)
    total += tl.load(b_ptr + cols, mask=cols < n, other=0).to(tl.float32)[None, :]
    for start in range(0, k, BLOCK_K):
        at = start + inner
        x = tl.load(
            x_ptr + rows[:, None] * sxm + at[None, :] * sxk,
            mask=(rows[:, None] < m) & (at[None, :] < k),
            other=0.0,
            eviction_policy="evict_first",
        )
        w = tl.load(
            wt_ptr + cols[:, None] * swn + at[None, :] * swk,
            mask=(cols[:, None] < n) & (at[None, :] < k),
            other=0.0,
            eviction_policy="evict_last",
        )
        total = tl.dot(x, tl.trans(w), acc=total, input_precision="ieee")
    total = tl.where(total > 0, total, 0.0)
    at = y_ptr + rows[:, None] * n + cols[None, :]
    tl.store(at, total.to(y_ptr.dtype.element_ty), mask=(rows[:, None] < m) & (cols[None, :] < n))


def run(x, weight, bias):
    wt = weight.t()
    k, n = wt.shape
    m = x.size(0)
    y = x.new_empty(m, n)
    linear_kernel[(triton.cdiv(n, 32), triton.cdiv(m, 32))](
        x, wt, bias, y, m, n, k, *x.stride(), *wt.stride(), BLOCK_M=32, BLOCK_N=32, BLOCK_K=64
    )
    return y
