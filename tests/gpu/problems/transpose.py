"""Data that moves and nothing else."""

import ouroboros


@ouroboros.problem(
    inputs={"x": "rows cols"},
    dtypes=["float32", "float16", "bfloat16"],
    timed=[{"rows": 512, "cols": 512}],
)
def transpose(x):
    """out[j, i] = x[i, j]"""
    return x.t().contiguous()
