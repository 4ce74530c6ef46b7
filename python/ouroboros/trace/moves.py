"""What host code moves, by kernels of the referee's own.

A cast, a transposed copy or a count from zero computes nothing that a candidate would be paid for,
and PyTorch has kernels for them that a machine without a GPU cannot see. These stand in for them:
part of the plan, checked and timed like the candidate's.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Collection
from typing import Any, NamedTuple

import torch

from ouroboros.trace.source_module import source_module

__all__ = ["can_cast", "copy", "count"]

FILE = "/ouroboros/moves.py"
BLOCK = 1024
INT32 = 1 << 31

SOURCE = '''
import triton
import triton.language as tl


@triton.jit
def ouroboros_copy(source, target, count, sizes, source_strides, target_strides, RANK: tl.constexpr,
                   BY_FLOAT32: tl.constexpr, WIDE: tl.constexpr, BLOCK: tl.constexpr):
    """Copies and casts. Sizes and strides, in elements, begin with the last axis."""
    rest = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if WIDE:
        rest = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = rest < count
    read = tl.zeros_like(rest)
    write = tl.zeros_like(rest)
    for axis in tl.static_range(RANK):
        at = rest
        if axis + 1 < RANK:
            at = rest % sizes[axis]
            rest = rest // sizes[axis]
        read += at * source_strides[axis]
        write += at * target_strides[axis]
    values = tl.load(source + read, mask=inside)
    if BY_FLOAT32:
        values = values.to(tl.float32)
    tl.store(target + write, values.to(target.dtype.element_ty), mask=inside)


@triton.jit
def ouroboros_count(target, count, start, step, BLOCK: tl.constexpr):
    """Writes start, start + step, and so on."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + at, (start + at * step).to(target.dtype.element_ty), mask=at < count)
'''

_HALVES = {torch.float16, torch.bfloat16}
_EIGHTHS = {torch.float8_e4m3fn, torch.float8_e5m2}
# PyTorch rounds to 8-bit floating types otherwise than Triton: to NaN or infinity, not to the
# largest number.
_NUMBERS = {torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64}
_NUMBERS |= {*_HALVES, torch.float32, torch.float64}
# Copied without a look at the values.
_BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class _Axis(NamedTuple):
    size: int
    source_stride: int
    target_stride: int


def can_cast(source: torch.dtype, target: torch.dtype) -> bool:
    """Whether `copy` makes of one dtype the other as PyTorch does."""
    if source == target:
        return source.itemsize in _BITS
    return source in _NUMBERS | _EIGHTHS and target in _NUMBERS


def copy(target: Any, source: Any, backwards: Collection[int] = ()) -> None:
    """Launches a copy of `source` to `target`, `ArenaTensor`s of one shape whose dtypes `can_cast`.

    `source` may overlap itself, as what is expanded does. Along the axes `backwards` it is read
    from its end.
    """
    if not target.numel():
        return
    if source.dtype == target.dtype:
        bits = _BITS[source.dtype.itemsize]
        source, target = source.view(bits), target.view(bits)
    strides = list(source.stride())
    for axis in backwards:
        strides[axis] *= -1
        source = source.narrow(axis, source.size(axis) - 1, 1)
    axes = _merged(
        [
            _Axis(*one)
            for one in zip(target.size(), strides, target.stride(), strict=True)
            if one[0] != 1
        ]
    )
    count = target.numel()
    reach = max(
        sum((axis.size - 1) * abs(stride) for axis, stride in zip(axes, strides, strict=True))
        for strides in ([a.source_stride for a in axes], [a.target_stride for a in axes])
    )
    _kernels().ouroboros_copy[math.ceil(count / BLOCK),](
        source,
        target,
        count,
        tuple(axis.size for axis in axes),
        tuple(axis.source_stride for axis in axes),
        tuple(axis.target_stride for axis in axes),
        RANK=len(axes),
        BY_FLOAT32=source.dtype in _EIGHTHS or target.dtype in _HALVES,  # As PyTorch does.
        WIDE=max(count + BLOCK, reach) >= INT32,
        BLOCK=BLOCK,
    )


def count(target: Any, start: int, step: int) -> None:
    """Launches what `torch.arange` of integers does, to a contiguous `ArenaTensor`."""
    if target.numel():
        grid = (math.ceil(target.numel() / BLOCK),)
        _kernels().ouroboros_count[grid](target, target.numel(), start, step, BLOCK=BLOCK)


@functools.cache
def _kernels() -> Any:
    return source_module("ouroboros_moves", SOURCE, FILE)


def _merged(axes: list[_Axis]) -> list[_Axis]:
    """Returns as few axes as will do, the one that is closest together in the target first."""
    merged: list[_Axis] = []
    for axis in sorted(axes, key=lambda axis: (axis.target_stride, axis.size)):
        if merged:
            inner = merged[-1]
            if (axis.source_stride, axis.target_stride) == (
                inner.source_stride * inner.size,
                inner.target_stride * inner.size,
            ):
                merged[-1] = inner._replace(size=inner.size * axis.size)
                continue
        merged.append(axis)
    return merged or [_Axis(1, 0, 0)]
