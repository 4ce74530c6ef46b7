"""Two outputs of two dtypes."""

import ouroboros


@ouroboros.problem(
    inputs={"x": "rows cols"},
    outputs=["values", "indices"],
    dtypes=["float32", "float16"],
    timed=[{"rows": 1024, "cols": 1024}],
)
def row_max(x):
    """The largest value of every row, and the first index of it"""
    values, indices = x.max(dim=-1)
    return values, indices
