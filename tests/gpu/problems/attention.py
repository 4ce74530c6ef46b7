"""Attention of small heads, causal."""

import ouroboros
import torch


@ouroboros.problem(
    inputs={"q": "heads length 32", "k": "heads length 32", "v": "heads length 32"},
    axes=[ouroboros.Axis("length", maximum=512)],
    dtypes=["float32", "float16", "bfloat16"],
    timed=[{"heads": 8, "length": 256}],
)
def attention(q, k, v):
    """out = softmax(mask(q k^T / sqrt 32)) v"""
    scores = q @ k.transpose(-1, -2) / 32**0.5
    length = q.shape[-2]
    later = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1)
    return torch.softmax(scores.masked_fill(later, -torch.inf), dim=-1) @ v
