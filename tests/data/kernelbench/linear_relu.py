"""A linear layer, scaled, with a threshold."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, in_features, out_features, scale):
        super().__init__()
        self.linear = nn.Linear(in_features, out_features)
        self.scale = scale

    def forward(self, x):
        return torch.relu(self.linear(x) * self.scale)


def get_inputs():
    return [torch.randn(6, 10)]


def get_init_inputs():
    return [10, 4, 0.5]
