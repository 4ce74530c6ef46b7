"""A scan that is no sum."""

import ouroboros


@ouroboros.problem(
    inputs={"x": "rows cols"},
    dtypes=["float32", "float16", "bfloat16"],
    timed=[{"rows": 512, "cols": 512}],
)
def cummax(x):
    """out[i, j] = the largest of x[i, 0] to x[i, j]"""
    return x.cummax(dim=-1).values
