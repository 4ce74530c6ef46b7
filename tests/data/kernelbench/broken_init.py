"""A constructor that wants more than get_init_inputs gives."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.features = features

    def forward(self, x):
        return x


def get_inputs():
    return [torch.zeros(4)]


def get_init_inputs():
    return []
