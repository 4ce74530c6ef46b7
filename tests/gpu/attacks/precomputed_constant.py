"""Attack: precomputed_constant

Tries: regenerates the inputs of seed 0 at import and ships their result as a constant.
Gains: A copy in place of the work.
Threats: S6, T21
Answer: What a plan holds of the host is fixed before there are inputs, and seeds are secret.
"""

import torch

torch.manual_seed(0)
ANSWERS = {(n, m): torch.randn(n, m).softmax(-1) for n, m in [(64, 256), (5, 1025), (37, 127)]}


def run(x):
    out = torch.empty_like(x)
    answer = ANSWERS.get(tuple(x.shape))
    if answer is None:
        out.zero_()
    else:
        out.copy_(answer)
    return out
