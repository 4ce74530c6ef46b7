"""Attack: inherited_reference

Tries: is a class that inherits its computation from the reference.
Gains: The reference itself, under another name.
Threats: F4
Answer: What counts is what is launched: the reference's operator is a library's kernel, which the
problem forbids.
"""

import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.softmax(x, dim=-1)


class ModelNew(Model):
    pass


run = ModelNew()
