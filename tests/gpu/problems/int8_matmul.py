"""A product of int8 matrices, summed exactly in int32."""

import ouroboros
from ouroboros import Input


@ouroboros.problem(
    inputs={
        "a": Input("a", ["m", "k"], dtype="int8"),
        "b": Input("b", ["k", "n"], dtype="int8"),
    },
    timed=[{"m": 256, "k": 256, "n": 256}],
)
def int8_matmul(a, b):
    """out = a b"""
    return a.int() @ b.int()
