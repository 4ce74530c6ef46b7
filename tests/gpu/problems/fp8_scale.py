"""Numbers of eight bits made into wider ones, by one scale."""

import ouroboros
from ouroboros import Input


@ouroboros.problem(
    inputs={
        "x": Input("x", ["rows", "cols"], dtype="float8_e4m3fn"),
        "scale": Input("scale", ["1"], dtype="float32", values="positive"),
    },
    dtypes=["float16"],
    timed=[{"rows": 512, "cols": 512}],
)
def fp8_scale(x, scale):
    """out = x scale"""
    return (x.float() * scale).half()
