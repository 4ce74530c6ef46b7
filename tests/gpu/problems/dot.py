"""Two vectors, one number."""

import ouroboros
import torch


@ouroboros.problem(
    inputs={"x": "n", "y": "n"},
    axes=[ouroboros.Axis("n", maximum=65536)],
    timed=[{"n": 1 << 18}],
)
def dot(x, y):
    """out = sum of x y"""
    return torch.dot(x, y)
