"""An input in a type that the referee cannot judge."""

import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return x + 1


def get_inputs():
    return [torch.zeros(4, 4, dtype=torch.complex64)]


def get_init_inputs():
    return []
