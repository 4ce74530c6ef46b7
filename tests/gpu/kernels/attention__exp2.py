"""attention, exp2: powers of two, and weights in the type of v as tensor cores want them."""

import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    Q, K, V, Out, sm_scale, stride_h, stride_l, stride_d, N_CTX,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, HEAD_DIM: tl.constexpr,
):  # fmt: skip
    start_m = tl.program_id(0)
    offset = tl.program_id(1) * stride_h
    offs_m = start_m * BLOCK_M + tl.arange(0, BLOCK_M)
    offs_n = tl.arange(0, BLOCK_N)
    offs_d = tl.arange(0, HEAD_DIM)
    q = tl.load(
        Q + offset + offs_m[:, None] * stride_l + offs_d[None, :] * stride_d,
        mask=offs_m[:, None] < N_CTX,
        other=0.0,
    )
    m_i = tl.zeros([BLOCK_M], dtype=tl.float32) - float("inf")
    l_i = tl.zeros([BLOCK_M], dtype=tl.float32) + 1.0
    acc = tl.zeros([BLOCK_M, HEAD_DIM], dtype=tl.float32)
    qk_scale = sm_scale * 1.44269504
    for start_n in tl.range(0, (start_m + 1) * BLOCK_M, BLOCK_N, num_stages=2):
        start_n = tl.multiple_of(start_n, BLOCK_N)
        n = start_n + offs_n
        k = tl.load(
            K + offset + offs_d[:, None] * stride_d + n[None, :] * stride_l,
            mask=n[None, :] < N_CTX,
            other=0.0,
        )
        qk = tl.dot(q, k, input_precision="ieee") * qk_scale
        qk = tl.where(offs_m[:, None] >= n[None, :], qk, -1.0e30)
        m_ij = tl.maximum(m_i, tl.max(qk, 1))
        p = tl.math.exp2(qk - m_ij[:, None])
        alpha = tl.math.exp2(m_i - m_ij)
        l_i = l_i * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        v = tl.load(
            V + offset + n[:, None] * stride_l + offs_d[None, :] * stride_d,
            mask=n[:, None] < N_CTX,
            other=0.0,
        )
        acc = tl.dot(p.to(v.dtype), v, acc, input_precision="ieee")
        m_i = m_ij
    # The sum began at one, which the first rescaling by exp2(-inf) has taken away.
    acc = acc / l_i[:, None]
    tl.store(
        Out + offset + offs_m[:, None] * stride_l + offs_d[None, :] * stride_d,
        acc.to(Out.dtype.element_ty),
        mask=offs_m[:, None] < N_CTX,
    )


def run(q, k, v):
    o = torch.empty_like(q)
    heads, length, dim = q.shape
    attention_kernel[(triton.cdiv(length, 64), heads, 1)](
        q, k, v, o, 1.0 / dim**0.5, q.stride(0), q.stride(1), q.stride(2), length,
        BLOCK_M=64, BLOCK_N=32, HEAD_DIM=dim, num_warps=4, num_stages=2,
    )  # fmt: skip
    return o
