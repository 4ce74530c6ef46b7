"""Whether views have memory in common, held against a look at every byte."""

from __future__ import annotations

import random

import pytest
import torch

pytest.importorskip("triton")


def bytes_of(view: torch.Tensor) -> set[int]:
    places = torch.zeros(view.size(), dtype=torch.int64)
    for axis, (size, stride) in enumerate(zip(view.size(), view.stride(), strict=True)):
        shape = [1] * axis + [size] + [1] * (view.dim() - axis - 1)
        places = places + (torch.arange(size) * stride).view(shape)
    width = view.element_size()
    begins = ((places + view.storage_offset()) * width).flatten().tolist()
    return {begin + byte for begin in begins for byte in range(width)}


def test_views_overlap_where_a_byte_is_of_both() -> None:
    from ouroboros.trace.overlap import overlap

    drawn = random.Random(5)
    memory = {dtype: torch.empty(4096, device="meta").view(dtype) for dtype in DTYPES}

    def view() -> torch.Tensor:
        rank = drawn.randint(0, 3)
        sizes = [drawn.randint(0 if drawn.random() < 0.05 else 1, 4) for _ in range(rank)]
        strides = [drawn.choice([0, 1, 2, 3, 4, 5, 8, 12, 16]) for _ in range(rank)]
        source = memory[drawn.choice(DTYPES)]
        return source.as_strided(sizes, strides, drawn.randint(0, 40))

    found = []
    for _ in range(3000):
        first, second = view(), view()
        found.append(overlap(first, second))
        assert found[-1] == bool(bytes_of(first) & bytes_of(second)), (first, second)
    assert 300 < sum(found) < 2700


DTYPES = (torch.float32, torch.float16, torch.int64)


def test_large_views_are_compared_at_once() -> None:
    from ouroboros.trace.overlap import overlap

    x = torch.empty((512, 1 << 16, 1 << 12), device="meta")
    assert not overlap(x[..., ::2], x[..., 1::2])
    assert not overlap(x[..., : 1 << 11], x[..., 1 << 11 :])
    assert overlap(x[..., 1:], x[..., :-1])
    assert overlap(x[:, : 1 << 12], x[:, : 1 << 12].mT)
