"""Sums of rows."""

import ouroboros


@ouroboros.problem(
    inputs={"x": "rows cols"},
    dtypes=["float32", "float16", "bfloat16"],
    timed=[{"rows": 1024, "cols": 1024}],
)
def row_sum(x):
    """out[i] = sum of x[i]"""
    return x.sum(dim=-1)
