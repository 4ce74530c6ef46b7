"""attention, flash: online softmax over blocks of keys, rescaled as the maximum grows."""

import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, out_ptr, length, scale,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    block, head = tl.program_id(0), tl.program_id(1)
    base = head.to(tl.int64) * length * WIDTH
    rows = block * BLOCK_M + tl.arange(0, BLOCK_M)
    dims = tl.arange(0, WIDTH)
    q = tl.load(
        q_ptr + base + rows[:, None] * WIDTH + dims[None, :], mask=rows[:, None] < length, other=0.0
    )
    peak = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    out = tl.zeros([BLOCK_M, WIDTH], tl.float32)
    for start in range(0, tl.minimum(length, (block + 1) * BLOCK_M), BLOCK_N):
        cols = start + tl.arange(0, BLOCK_N)
        at = base + cols[:, None] * WIDTH + dims[None, :]
        k = tl.load(k_ptr + at, mask=cols[:, None] < length, other=0.0)
        v = tl.load(v_ptr + at, mask=cols[:, None] < length, other=0.0)
        scores = tl.dot(q, k.T, input_precision="ieee") * scale
        scores = tl.where(rows[:, None] >= cols[None, :], scores, float("-inf"))
        new_peak = tl.maximum(peak, tl.max(scores, 1))
        weights = tl.exp(scores - new_peak[:, None])
        shrink = tl.exp(peak - new_peak)
        total = total * shrink + tl.sum(weights, 1)
        out = out * shrink[:, None]
        out = tl.dot(weights, v.to(tl.float32), out, input_precision="ieee")
        peak = new_peak
    out = out / total[:, None]
    tl.store(
        out_ptr + base + rows[:, None] * WIDTH + dims[None, :],
        out.to(out_ptr.dtype.element_ty),
        mask=rows[:, None] < length,
    )


def run(q, k, v):
    heads, length, width = q.shape
    out = torch.empty_like(q)
    attention_kernel[(triton.cdiv(length, 32), heads)](
        q, k, v, out, length, width**-0.5, BLOCK_M=32, BLOCK_N=32, WIDTH=width
    )
    return out
