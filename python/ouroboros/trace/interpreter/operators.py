"""Operators in Triton's interpreter, with the types that the compiler gives their results.

The interpreter by itself calls a comparison of scalars an integer, and makes a constant of the
language the owner of all that it is the left operand of.
"""

from __future__ import annotations

import contextlib
from typing import Any
from unittest import mock

import numpy as np
import triton.language as tl
import triton.runtime.interpreter as interpreter

__all__ = ["operators"]

_OF_TWO = "add sub mul truediv floordiv mod pow and or xor lshift rshift lt le gt ge eq ne"


def operators(stack: contextlib.ExitStack) -> None:
    """Corrects them, within `stack`."""
    builder = interpreter.InterpreterBuilder
    compute = builder.binary_op

    def binary_op(self: Any, left: Any, right: Any, op: Any) -> Any:
        made = compute(self, left, right, op)
        if made.data.dtype != np.bool_:
            return made
        return interpreter.TensorHandle(made.data, tl.int1)

    stack.enter_context(mock.patch.object(builder, "binary_op", binary_op))
    for name in _OF_TWO.split():
        method = getattr(tl.constexpr, f"__{name}__")
        stack.enter_context(mock.patch.object(tl.constexpr, f"__{name}__", _yielding(method)))


def _yielding(method: Any) -> Any:
    """Returns the method of a constant, which leaves tensors to the operator of theirs."""

    def operate(self: Any, other: Any) -> Any:
        return NotImplemented if isinstance(other, tl.tensor) else method(self, other)

    return operate
