"""8-bit floats in Triton's interpreter: rounded and cut off as GPUs do.

The interpreter by itself truncates, and lets subnormal numbers go.
"""

from __future__ import annotations

import contextlib
from typing import Any
from unittest import mock

import numpy as np
import torch
import triton.language as tl
import triton.runtime.interpreter as interpreter

__all__ = ["float8"]

_TYPES = {tl.float8e4nv: torch.float8_e4m3fn, tl.float8e5: torch.float8_e5m2}


def float8(stack: contextlib.ExitStack) -> None:
    """Has conversions and products of 8-bit floats made by way of float32, within `stack`.

    What is too large becomes the largest number, as `cvt.rn.satfinite` has it.
    """
    builder = interpreter.InterpreterBuilder
    convert, multiply = builder.create_fp_to_fp, builder.create_dot

    def fp_to_fp(self: Any, source: Any, kind: Any, rounding: Any) -> Any:
        if source.dtype.scalar in _TYPES:
            wide = _widened(source)
            return wide if kind.scalar == tl.float32 else self.cast_impl(wide, kind)
        nearest = rounding in (None, interpreter._ir.ROUNDING_MODE.RTNE)
        if kind.scalar not in _TYPES or not nearest:
            return convert(self, source, kind, rounding)
        dtype = _TYPES[kind.scalar]
        most = torch.finfo(dtype).max
        values = torch.from_numpy(np.array(self.cast_impl(source, tl.float32).data))
        bits = values.clamp(-most, most).to(dtype).view(torch.uint8)
        return interpreter.TensorHandle(bits.numpy(), kind.scalar)

    def dot(self: Any, a: Any, b: Any, *rest: Any) -> Any:
        return multiply(self, _widened(a), _widened(b), *rest)

    for name, made in (("create_fp_to_fp", fp_to_fp), ("create_dot", dot)):
        stack.enter_context(mock.patch.object(builder, name, made))


def _widened(value: Any) -> Any:
    """Returns 8-bit floats as float32, and everything else as it is."""
    dtype = _TYPES.get(value.dtype.scalar)
    if dtype is None:
        return value
    bits = torch.from_numpy(np.array(value.data, dtype=np.uint8))
    return interpreter.TensorHandle(bits.view(dtype).float().numpy(), tl.float32)
