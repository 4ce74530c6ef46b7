"""Attack: zero_output

Tries: returns zeros.
Gains: A fill in place of the work, where a tolerance is absolute.
Threats: S11, S8
Answer: Errors are measured against the size of the true value, and a problem that zeros would
solve is refused itself.
"""

import torch


def run(x):
    return torch.zeros_like(x)
