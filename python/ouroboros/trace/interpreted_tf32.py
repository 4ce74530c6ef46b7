"""Products in Triton's interpreter, as coarse as on tensor cores.

In TF32, factors of float32 lose 13 bits; sums in float16 are rounded at every step. The interpreter
by itself multiplies and adds in float32, whatever precision a kernel asks for.
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
    coarse = interpreter._ir.INPUT_PRECISION.TF32

    def dot(self: Any, a: Any, b: Any, total: Any, precision: Any, *rest: Any) -> Any:
        if precision == coarse:
            a, b = _rounded(a), _rounded(b)
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


def _rounded(value: Any) -> Any:
    """Returns float32 in 11 bits, ties away from zero (PTX ISA, `cvt.rna.tf32.f32`)."""
    if value.dtype.scalar != tl.float32:
        return value
    bits = np.ascontiguousarray(value.data).view(np.uint32)
    made = ((bits + (_LOST >> 1) + np.uint32(1)) & ~_LOST).view(np.float32)
    # What is no number stays what it is.
    return interpreter.TensorHandle(np.where(np.isfinite(value.data), made, value.data), tl.float32)
