"""A mean of as much of each row as its length says."""

import ouroboros
import torch
from ouroboros import Input


@ouroboros.problem(
    inputs={
        "x": "rows cols",
        "lengths": Input("lengths", ["rows"], dtype="int32", values="length", index_axis="cols"),
    },
    dtypes=["float32", "float16"],
    timed=[{"rows": 2048, "cols": 1024}],
)
def prefix_mean(x, lengths):
    """out[i] = mean of x[i, 0] to x[i, lengths[i] - 1], and 0 where there is none"""
    outside = torch.arange(x.shape[1], device=x.device) >= lengths[:, None]
    total = x.float().masked_fill(outside, 0.0).sum(dim=-1)
    return (total / lengths.clamp(min=1)).to(x.dtype)
