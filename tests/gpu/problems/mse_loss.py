"""A loss that is one number."""

import ouroboros
from torch.nn import functional


@ouroboros.problem(
    inputs={"x": "n", "y": "n"},
    axes=[ouroboros.Axis("n", maximum=65536)],
    dtypes=["float32", "float16", "bfloat16"],
    timed=[{"n": 1 << 18}],
)
def mse_loss(x, y):
    """out = mean of (x - y)^2"""
    return functional.mse_loss(x, y)
