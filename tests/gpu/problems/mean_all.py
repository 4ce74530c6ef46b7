"""One number for a whole tensor."""

import ouroboros


@ouroboros.problem(
    inputs={"x": "rows cols"},
    dtypes=["float32", "float16", "bfloat16"],
    timed=[{"rows": 1024, "cols": 1024}],
)
def mean_all(x):
    """out = mean of x"""
    return x.mean()
