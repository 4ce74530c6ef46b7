"""int8 weights with a scale a row."""

import ouroboros
from ouroboros import Input


@ouroboros.problem(
    inputs={
        "quantized": Input("quantized", ["rows", "cols"], dtype="int8"),
        "scale": Input("scale", ["rows"], values="positive"),
    },
    dtypes=["float32", "float16", "bfloat16"],
    timed=[{"rows": 512, "cols": 512}],
)
def dequantize(quantized, scale):
    """out = quantized scale"""
    return (quantized.float() * scale.float()[:, None]).to(scale.dtype)
