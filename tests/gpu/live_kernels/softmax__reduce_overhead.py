"""torch.compile in a mode that has CUDA graphs of its own."""

import torch


@torch.compile(mode="reduce-overhead")
def softmax(x):
    return torch.softmax(x.float(), dim=-1).to(x.dtype)


def run(x):
    return softmax(x)
