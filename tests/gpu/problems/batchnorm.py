"""Inference, on three dimensions."""

import ouroboros
from ouroboros import Input
from torch.nn import functional


@ouroboros.problem(
    inputs={
        "x": "batch channels pixels",
        "mean": "channels",
        "variance": Input("variance", ["channels"], values="positive"),
        "weight": "channels",
        "bias": "channels",
    },
    parameters=["weight", "bias"],
    timed=[{"batch": 8, "channels": 64, "pixels": 196}],
)
def batchnorm(x, mean, variance, weight, bias):
    """out = (x - mean) / sqrt(variance + 1e-5) weight + bias"""
    return functional.batch_norm(x, mean, variance, weight, bias, training=False)
