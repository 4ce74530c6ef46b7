"""Sums in an order that nobody chooses."""

import ouroboros
from ouroboros import Input


@ouroboros.problem(
    inputs={
        "base": "count width",
        "index": Input("index", ["n"], dtype="int64", values="index", index_axis="count"),
        "source": "n width",
    },
    timed=[{"count": 64, "n": 1024, "width": 128}],
)
def index_add(base, index, source):
    """out = base, and source[i] is added to row index[i]"""
    return base.index_add(0, index, source)
