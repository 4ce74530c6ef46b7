"""Attention over two parts of the keys, put together."""

import ouroboros
import torch


@ouroboros.problem(
    inputs={"v": "tokens dim", "s": "tokens", "other_v": "tokens dim", "other_s": "tokens"},
    outputs=["merged_v", "merged_s"],
    dtypes=["float32", "bfloat16"],
    timed=[{"tokens": 4096, "dim": 128}],
)
def merge_states(v, s, other_v, other_s):
    """The mean by the weights exp(s) and exp(other_s), and the logarithm of their sum"""
    most = torch.maximum(s, other_s)
    one = torch.exp(s - most)
    other = torch.exp(other_s - most)
    total = one + other
    merged = (v * one[:, None] + other_v * other[:, None]) / total[:, None]
    return merged, most + torch.log(total)
