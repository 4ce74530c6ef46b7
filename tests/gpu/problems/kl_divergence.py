"""A loss of two inputs, one of them a logarithm."""

import ouroboros
from ouroboros import Input
from torch.nn import functional


@ouroboros.problem(
    inputs={"logits": "rows cols", "target": Input("target", ["rows", "cols"], values="positive")},
    timed=[{"rows": 512, "cols": 512}],
)
def kl_divergence(logits, target):
    """out = sum of target (log target - log_softmax(logits)) over a row, averaged over rows"""
    return functional.kl_div(functional.log_softmax(logits, dim=-1), target, reduction="batchmean")
