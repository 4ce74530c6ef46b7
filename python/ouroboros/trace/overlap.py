"""Whether two views of one allocation have memory in common."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import torch

__all__ = ["overlap", "overlaps_itself"]


def overlaps_itself(view: torch.Tensor) -> bool:
    """Whether PyTorch refuses to write to a view: what is expanded is only to be read."""
    axes = zip(view.size(), view.stride(), strict=True)
    return view.numel() > 0 and any(size > 1 and stride == 0 for size, stride in axes)


def overlap(first: torch.Tensor, second: torch.Tensor) -> bool:
    """Whether some byte belongs to both views."""
    if not first.numel() or not second.numel():
        return False
    # How often each stride can be between a byte of the one and a byte of the other.
    lowest: dict[int, int] = {}
    highest: dict[int, int] = {}
    for stride, size in _axes(first):
        highest[stride] = highest.get(stride, 0) + size - 1
    for stride, size in _axes(second):
        lowest[stride] = lowest.get(stride, 0) - size + 1
    strides = sorted({*lowest, *highest}, reverse=True)
    times = [(lowest.get(stride, 0), highest.get(stride, 0)) for stride in strides]

    @functools.cache
    def reached(distance: int, index: int) -> bool:
        """Whether the strides from `index` on add up to a distance."""
        if index == len(strides):
            return distance == 0
        rest = list(zip(strides, times, strict=True))[index + 1 :]
        least = sum(stride * low for stride, (low, _) in rest)
        most = sum(stride * high for stride, (_, high) in rest)
        stride, (low, high) = strides[index], times[index]
        low = max(low, -((most - distance) // stride))
        high = min(high, (distance - least) // stride)
        return any(reached(distance - n * stride, index + 1) for n in range(low, high + 1))

    return reached(_begin(second) - _begin(first), 0)


def _begin(view: torch.Tensor) -> int:
    return int(view.storage_offset()) * view.element_size()


def _axes(view: torch.Tensor) -> Iterator[tuple[int, int]]:
    """Yields strides in bytes and sizes, the bytes of an element among them."""
    yield 1, view.element_size()
    for stride, size in zip(view.stride(), view.size(), strict=True):
        if stride:
            yield stride * view.element_size(), size
