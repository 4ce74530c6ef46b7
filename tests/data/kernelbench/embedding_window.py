"""Looks rows up and sums windows of them: indices, a number, two results."""

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, count, width):
        super().__init__()
        self.table = nn.Embedding(count, width)

    def forward(self, indices, window: int):
        rows = self.table(indices)
        return rows, rows.unfold(0, window, window).sum(-1)


def get_inputs():
    return [torch.tensor([3, 0, 7, 7, 1, 5]), 2]


def get_init_inputs():
    return [11, 4]
