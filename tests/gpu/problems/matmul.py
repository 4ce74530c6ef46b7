"""A product of two matrices."""

import ouroboros


@ouroboros.problem(
    inputs={"a": "m k", "b": "k n"},
    dtypes=["float32", "float16", "bfloat16"],
    timed=[{"m": 256, "k": 512, "n": 256}],
)
def matmul(a, b):
    """out = a b"""
    return a @ b
