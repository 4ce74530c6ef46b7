"""A product of eight-bit floats with scales."""

import ouroboros
from ouroboros import Input


@ouroboros.problem(
    inputs={
        "a": Input("a", ["m", "16*k"], dtype="float8_e4m3fn"),
        "b": Input("b", ["n", "16*k"], dtype="float8_e4m3fn"),
        "scale_a": Input("scale_a", ["m"], dtype="float32", values="positive"),
        "scale_b": Input("scale_b", ["n"], dtype="float32", values="positive"),
    },
    axes=[ouroboros.Axis("k", maximum=64)],
    dtypes=["float32"],
    timed=[{"m": 128, "k": 16, "n": 128}],
)
def fp8_matmul(a, b, scale_a, scale_b):
    """out = a b^T scale_a scale_b"""
    return (a.float() @ b.float().T) * scale_a[:, None] * scale_b[None, :]
