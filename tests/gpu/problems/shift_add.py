"""Integers only."""

import ouroboros
from ouroboros import Axis, Input


@ouroboros.problem(
    inputs={
        "x": Input("x", ["n"], dtype="int32", values="index", index_axis="largest"),
        "y": Input("y", ["n"], dtype="int32", values="index", index_axis="largest"),
    },
    axes=[Axis("largest", fixed=1 << 20)],
    timed=[{"n": 1 << 20, "largest": 1 << 20}],
)
def shift_add(x, y):
    """out = (x << 3) + (y >> 2) - 7"""
    return (x << 3) + (y >> 2) - 7
