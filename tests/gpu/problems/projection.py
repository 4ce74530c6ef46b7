"""A product that a library may do, and what follows it."""

import ouroboros
import torch


@ouroboros.problem(
    inputs={"x": "rows inner", "weight": "inner cols"},
    dtypes=["float32", "float16"],
    timed=[{"rows": 256, "inner": 128, "cols": 256}],
    library_kernels="allow",
)
def projection(x, weight):
    """out = softmax(x weight)"""
    return torch.softmax(x @ weight, dim=-1)
