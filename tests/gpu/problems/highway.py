"""A highway's blend of what a layer made and what it was given."""

import ouroboros
import torch


@ouroboros.problem(
    inputs={"x": "n", "made": "n", "gate": "n"},
    dtypes=["float32", "bfloat16"],
    timed=[{"n": 1 << 20}],
)
def highway(x, made, gate):
    """out = made * t + x * (1 - t), where t is the sigmoid of the gate"""
    t = torch.sigmoid(gate.float())
    return (made.float() * t + x.float() * (1.0 - t)).to(x.dtype)
