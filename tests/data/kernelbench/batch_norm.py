"""Batch normalisation over the batch: running statistics are written, and never read."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(5)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(8, 5)]


def get_init_inputs():
    return []
