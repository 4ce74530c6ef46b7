"""What stands between two layers, with broadcasting."""

import ouroboros
from torch.nn import functional


@ouroboros.problem(
    inputs={"x": "batch length width", "bias": "width", "residual": "batch 1 width"},
    parameters=["bias"],
    dtypes=["float32", "float16", "bfloat16"],
    timed=[{"batch": 8, "length": 128, "width": 256}],
)
def bias_gelu_add(x, bias, residual):
    """out = gelu(x + bias) + residual, gelu in its tanh form"""
    return functional.gelu(x + bias, approximate="tanh") + residual
