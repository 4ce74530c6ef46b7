"""A softmax of scores that a mask of zeros and ones pushes away, as transformers write it."""

import ouroboros
import torch
from ouroboros import Axis, Input


@ouroboros.problem(
    inputs={
        "scores": "batch queries keys",
        "mask": Input("mask", ["batch", 1, "keys"], values="mask"),
    },
    axes=[Axis("batch", maximum=8), Axis("queries", maximum=32), Axis("keys", maximum=4096)],
    dtypes=["float32", "float16"],
    timed=[{"batch": 8, "queries": 32, "keys": 4096}],
)
def padded_softmax(scores, mask):
    """out = softmax(scores + (1 - mask) * -1e9) over the keys"""
    pushed = scores.float() + (1.0 - mask.float()) * -1e9
    return torch.softmax(pushed, dim=-1).to(scores.dtype)
