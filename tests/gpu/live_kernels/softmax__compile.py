"""torch.compile of a softmax's parts, for each shape anew."""

import torch


def softmax(x):
    wide = x.to(torch.float32)
    e = torch.exp(wide - torch.amax(wide, -1, True))
    return (e / e.sum(-1, True)).to(x.dtype)


compiled = torch.compile(softmax, dynamic=False)


def run(x):
    if x.numel() == 0:
        return torch.empty_like(x)
    return compiled(x)
