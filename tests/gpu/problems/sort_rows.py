"""Rows of a power of two, sorted."""

import ouroboros


@ouroboros.problem(inputs={"x": "rows 64"}, dtypes=["float32", "float16"], timed=[{"rows": 4096}])
def sort_rows(x):
    """out[i] = x[i] in ascending order"""
    return x.sort(dim=-1).values
