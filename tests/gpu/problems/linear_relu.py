"""A layer of a network, as PyTorch stores its weight."""

import ouroboros
from torch.nn import functional


@ouroboros.problem(
    inputs={"x": "m k", "weight": "n k", "bias": "n"},
    dtypes=["float32", "float16", "bfloat16"],
    timed=[{"m": 256, "k": 512, "n": 256}],
)
def linear_relu(x, weight, bias):
    """out = relu(x weight^T + bias)"""
    return functional.relu(functional.linear(x, weight, bias))
