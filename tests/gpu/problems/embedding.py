"""Rows of a table."""

import ouroboros
from ouroboros import Input
from torch.nn import functional


@ouroboros.problem(
    inputs={
        "ids": Input("ids", ["n"], dtype="int64", values="index", index_axis="vocabulary"),
        "table": "vocabulary width",
    },
    dtypes=["float32", "float16", "bfloat16"],
    timed=[{"n": 4096, "vocabulary": 1000, "width": 128}],
)
def embedding(ids, table):
    """out[i] = table[ids[i]]"""
    return functional.embedding(ids, table)
