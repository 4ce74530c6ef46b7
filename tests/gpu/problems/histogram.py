"""Counts, which atomics find exactly."""

import ouroboros
import torch
from ouroboros import Axis, Input


@ouroboros.problem(
    inputs={"values": Input("values", ["n"], dtype="int64", values="index", index_axis="bins")},
    axes=[Axis("n", maximum=65536), Axis("bins", fixed=64)],
    timed=[{"n": 65536, "bins": 64}],
)
def histogram(values):
    """out[b] = how many values are b, for b below 64"""
    return torch.bincount(values, minlength=64).to(torch.int32)
