"""A short convolution over time, as in state-space models."""

import ouroboros
from torch.nn import functional


@ouroboros.problem(
    inputs={"x": "batch channels time", "weight": "channels 4"},
    dtypes=["float32", "float16"],
    timed=[{"batch": 4, "channels": 64, "time": 512}],
)
def causal_conv(x, weight):
    """out[b, c, t] = sum over i of weight[c, i] x[b, c, t - 3 + i]"""
    channels, width = weight.shape
    padded = functional.pad(x, (width - 1, 0))
    return functional.conv1d(padded, weight.unsqueeze(1), groups=channels)
