"""Elements one by one in Triton's interpreter: mapped functions, and exchanges of floats.

The interpreter by itself maps nothing, and exchanges integers alone.
"""

from __future__ import annotations

import contextlib
from typing import Any
from unittest import mock

import numpy as np
import triton.language as tl
import triton.runtime.interpreter as interpreter

__all__ = ["elements"]


def elements(stack: contextlib.ExitStack) -> None:
    """Lets kernels treat them so, within `stack`."""
    builder = interpreter.InterpreterBuilder
    mapped = tl.core.builtin(_map_elementwise)
    exchange, compare = builder.create_atomic_rmw, builder.create_atomic_cas

    def atomic_rmw(self: Any, op: Any, pointers: Any, value: Any, *rest: Any) -> Any:
        if op != interpreter._ir.ATOMIC_OP.XCHG:
            return exchange(self, op, pointers, value, *rest)
        return _like(value, exchange(self, op, pointers, _bits(value), *rest))

    def atomic_cas(self: Any, pointers: Any, expected: Any, value: Any, *rest: Any) -> Any:
        # As on a GPU it is the bits that are compared.
        made = compare(self, pointers, _bits(expected), _bits(value), *rest)
        return _like(expected, made)

    for owner, name, made in (
        (builder, "create_atomic_rmw", atomic_rmw),
        (builder, "create_atomic_cas", atomic_cas),
        (tl, "map_elementwise", mapped),
        (tl.core, "map_elementwise", mapped),
    ):
        stack.enter_context(mock.patch.object(owner, name, made))


def _bits(value: Any) -> Any:
    """Returns floats as the integers of their bits, and everything else as it is."""
    if value.data.dtype.kind != "f":
        return value
    kind = f"uint{8 * value.data.itemsize}"
    return interpreter.TensorHandle(value.data.view(kind), getattr(tl, kind))


def _like(value: Any, made: Any) -> Any:
    return interpreter.TensorHandle(made.data.view(value.data.dtype), value.dtype.scalar)


def _map_elementwise(scalar_fn: Any, *args: Any, pack: Any = 1, _semantic: Any = None) -> Any:
    if tl.core._unwrap_if_constexpr(pack) != 1:
        raise NotImplementedError("map_elementwise with pack is not supported in interpreter mode")
    arrays = np.broadcast_arrays(*(one.handle.data for one in args))
    kinds = [one.dtype for one in args]
    made: list[tuple[Any, ...]] = []
    single = True
    for values in zip(*(one.flat for one in arrays), strict=True):
        found = scalar_fn(*map(_scalar, values, kinds))
        single = isinstance(found, tl.tensor)
        made.append((found,) if single else tuple(found))
    results = [_block(column, arrays[0].shape) for column in zip(*made, strict=True)]
    return results[0] if single else tl.tuple(results)


def _scalar(value: Any, kind: Any) -> Any:
    return tl.tensor(interpreter.TensorHandle(np.array([value]), kind), kind)


def _block(column: Any, shape: Any) -> Any:
    kind = column[0].dtype
    data = np.concatenate([one.handle.data.reshape(1) for one in column]).reshape(shape)
    return tl.tensor(interpreter.TensorHandle(data, kind), tl.block_type(kind, list(shape)))
