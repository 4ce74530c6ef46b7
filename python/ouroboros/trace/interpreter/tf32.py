"""Products in Triton's interpreter, as coarse as on tensor cores.

In TF32, factors of float32 lose 13 bits, in `bf16x3` eight; sums in float16 are rounded at every
step. The interpreter by itself multiplies and adds in float32, whatever precision is asked for.
"""

from __future__ import annotations

import contextlib
from typing import Any
from unittest import mock

import numpy as np
import triton.language as tl
import triton.runtime.interpreter as interpreter

__all__ = ["tf32"]

_LOST = np.uint32((1 << 13) - 1)


def tf32(stack: contextlib.ExitStack) -> None:
    """Has `tl.dot` round where its precision is TF32 or its sums are float16, within `stack`."""
    builder = interpreter.InterpreterBuilder
    multiply = builder.create_dot
    coarse, parted = interpreter._ir.INPUT_PRECISION.TF32, interpreter._ir.INPUT_PRECISION.BF16x3

    def dot(self: Any, a: Any, b: Any, total: Any, precision: Any, *rest: Any) -> Any:
        if precision == coarse:
            a, b = _rounded(a), _rounded(b)
        elif precision == parted and a.dtype.scalar == b.dtype.scalar == tl.float32:
            return _by_parts(a, b, total)
        if total.dtype.scalar != tl.float16:
            return multiply(self, a, b, total, precision, *rest)
        # An instruction takes 32 bytes of each row (PTX ISA, `wgmma.mma_async`; `mma` takes less).
        step = 32 * 8 // a.dtype.scalar.primitive_bitwidth
        for at in range(0, a.data.shape[-1], step):
            left = interpreter.TensorHandle(a.data[..., at : at + step], a.dtype)
            right = interpreter.TensorHandle(b.data[..., at : at + step, :], b.dtype)
            total = multiply(self, left, right, total, precision, *rest)
        return total

    stack.enter_context(mock.patch.object(builder, "create_dot", dot))


def _by_parts(a: Any, b: Any, total: Any) -> Any:
    """Returns the products of what bfloat16 holds of float32 and of what that leaves, but the last.

    See Henry, Tang and Heinecke, "Leveraging the bfloat16 artificial intelligence datatype for
    higher-precision computations" (2019), which Triton follows.
    """
    high_a, high_b = _in_bfloat16(a.data), _in_bfloat16(b.data)
    low_a, low_b = _in_bfloat16(a.data - high_a), _in_bfloat16(b.data - high_b)
    small = np.matmul(low_a, high_b) + np.matmul(high_a, low_b)
    # What is infinite leaves no number.
    made = np.matmul(high_a, high_b) + np.where(np.isnan(small), np.float32(0), small)
    return interpreter.TensorHandle(made + total.data, total.dtype.scalar)


def _in_bfloat16(data: Any) -> Any:
    """Returns float32 in 8 bits, ties to even (PTX ISA, `cvt.rn.bf16.f32`)."""
    bits = np.ascontiguousarray(data).view(np.uint32)
    even = (bits >> np.uint32(16)) & np.uint32(1)
    made = ((bits + np.uint32(0x7FFF) + even) & np.uint32(0xFFFF0000)).view(np.float32)
    return np.where(np.isfinite(data), made, data)


def _rounded(value: Any) -> Any:
    """Returns float32 in 11 bits, ties away from zero (PTX ISA, `cvt.rna.tf32.f32`)."""
    if value.dtype.scalar != tl.float32:
        return value
    bits = np.ascontiguousarray(value.data).view(np.uint32)
    made = ((bits + (_LOST >> 1) + np.uint32(1)) & ~_LOST).view(np.float32)
    # What is no number stays what it is.
    return interpreter.TensorHandle(np.where(np.isfinite(value.data), made, value.data), tl.float32)
