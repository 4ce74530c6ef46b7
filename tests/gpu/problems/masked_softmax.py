"""A softmax over what a mask of integers leaves."""

import ouroboros
import torch
from ouroboros import Input


@ouroboros.problem(
    inputs={
        "x": "rows cols",
        "lengths": Input("lengths", ["rows"], dtype="int32", values="index", index_axis="cols"),
    },
    dtypes=["float32", "float16"],
    timed=[{"rows": 1024, "cols": 512}],
)
def masked_softmax(x, lengths):
    """out[i] = softmax of x[i, 0] to x[i, lengths[i]], and zero after that"""
    outside = torch.arange(x.shape[1], device=x.device) > lengths[:, None]
    return torch.softmax(x.float().masked_fill(outside, -torch.inf), dim=-1).to(x.dtype)
