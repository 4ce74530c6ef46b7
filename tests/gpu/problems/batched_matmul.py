"""Many small products."""

import ouroboros
import torch


@ouroboros.problem(
    inputs={"a": "batch m 48", "b": "batch 48 n"},
    dtypes=["float32", "float16"],
    timed=[{"batch": 16, "m": 64, "n": 64}],
)
def batched_matmul(a, b):
    """out[i] = a[i] b[i]"""
    return torch.bmm(a, b)
