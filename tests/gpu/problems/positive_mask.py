"""A mask of bools, and a choice by another one."""

import ouroboros
from ouroboros import Input


@ouroboros.problem(
    inputs={"x": "n", "keep": Input("keep", ["n"], dtype="bool")},
    outputs=["mask", "kept"],
    dtypes=["float32", "float16"],
    timed=[{"n": 1 << 18}],
)
def positive_mask(x, keep):
    """mask = keep and x is positive; kept = x where keep, else 0"""
    return keep & (x > 0), x.masked_fill(~keep, 0.0)
