"""A vector, element by element."""

import ouroboros
from ouroboros import Axis
from torch.nn import functional


@ouroboros.problem(
    inputs={"x": "n"},
    axes=[Axis("n", minimum=0, maximum=65536)],
    dtypes=["float32", "float16", "bfloat16"],
    timed=[{"n": 1 << 20}],
)
def gelu(x):
    """out = x / 2 (1 + erf(x / sqrt 2))"""
    return functional.gelu(x)
