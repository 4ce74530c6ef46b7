"""Attack: reference_again

Tries: hands the reference in as it is.
Gains: A ratio of one for no work.
Threats: F8
Answer: Operators of the library are rejected where the problem forbids them, and are worth nothing
more than a ratio of one where it does not.
"""

import torch


def run(x):
    return torch.softmax(x.float(), dim=-1).to(x.dtype)
