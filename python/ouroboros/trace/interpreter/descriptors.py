"""Atomic updates through tensor descriptors, which Triton's interpreter by itself does not have."""

from __future__ import annotations

import contextlib
from typing import Any
from unittest import mock

import numpy as np
import triton.runtime.interpreter as interpreter

__all__ = ["descriptors"]

_ir = interpreter._ir


def descriptors(stack: contextlib.ExitStack) -> None:
    """Lets kernels update memory so, within `stack`."""
    builder = interpreter.InterpreterBuilder
    stack.enter_context(
        mock.patch.object(builder, "create_descriptor_reduce", _reduce, create=True)
    )


def _reduce(self: Any, kind: Any, descriptor: Any, value: Any, offsets: Any) -> None:
    """Updates the elements of a block that are within the descriptor's shape."""
    pointers, mask = descriptor.materialize_pointers(offsets)
    operation = _operation(kind, value)
    relaxed, everywhere = _ir.MEM_SEMANTIC.RELAXED, _ir.MEM_SYNC_SCOPE.GPU
    self.create_atomic_rmw(operation, pointers, value, mask, relaxed, everywhere)


def _operation(kind: Any, value: Any) -> Any:
    name = kind.name
    scalar = value.dtype.scalar
    if name == "ADD" and scalar.is_floating():
        name = "FADD"
    elif name in ("MIN", "MAX") and scalar.is_floating():
        raise NotImplementedError("the least or largest of floats through a descriptor")
    elif name in ("MIN", "MAX") and np.issubdtype(value.data.dtype, np.unsignedinteger):
        name = f"U{name}"
    return getattr(_ir.ATOMIC_OP, name)
