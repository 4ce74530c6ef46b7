"""torch.compile for any shape, as one graph."""

import torch
from torch.nn import functional


@torch.compile(dynamic=True, fullgraph=True)
def layernorm(x, weight, bias):
    return functional.layer_norm(x.float(), (x.shape[-1],), weight.float(), bias.float(), 1e-5).to(
        x.dtype
    )


def run(x, weight, bias):
    return layernorm(x, weight, bias)
