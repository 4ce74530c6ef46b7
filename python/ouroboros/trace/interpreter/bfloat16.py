"""bfloat16 in Triton's interpreter: rounded to the nearest with ties to even, as GPUs do.

The interpreter by itself holds its bits as integers, adds and compares those, and only truncates.
"""

from __future__ import annotations

import contextlib
from typing import Any
from unittest import mock

import numpy as np
import triton.language as tl
import triton.runtime.interpreter as interpreter

__all__ = ["bfloat16"]

_FLOAT = tl.float32


def bfloat16(stack: contextlib.ExitStack) -> None:
    """Lets kernels compute in bfloat16, within `stack`."""
    builder = interpreter.InterpreterBuilder
    cast, atomic = builder.cast_impl, builder.create_atomic_rmw
    load, store = builder.create_masked_load, builder.create_masked_store
    multiplied = builder.create_dot

    def patch(owner: object, name: str, made: object) -> None:
        stack.enter_context(mock.patch.object(owner, name, made))

    def cast_impl(self: Any, source: Any, kind: Any) -> Any:
        if tl.bfloat16 not in (source.dtype.scalar, kind.scalar):
            return cast(self, source, kind)
        wide = _widened(source)
        if kind.scalar == tl.bfloat16:
            return _narrowed(wide if wide.dtype.scalar == _FLOAT else cast(self, wide, _FLOAT))
        return wide if kind.scalar == _FLOAT else cast(self, wide, kind)

    def computed(function: Any) -> Any:
        def compute(self: Any, *operands: Any) -> Any:
            handles = [one for one in operands if isinstance(one, interpreter.TensorHandle)]
            if not any(one.dtype.scalar == tl.bfloat16 for one in handles):
                return function(self, *operands)
            made = function(self, *map(_widened, operands))
            # A comparison has made booleans.
            return _narrowed(made) if made.data.dtype == np.float32 else made

        return compute

    def dot(self: Any, a: Any, b: Any, total: Any, *options: Any) -> Any:
        return multiplied(self, _widened(a), _widened(b), total, *options)

    def atomic_rmw(self: Any, op: Any, pointers: Any, value: Any, mask: Any, *args: Any) -> Any:
        if value.dtype.scalar != tl.bfloat16 or op != interpreter._ir.ATOMIC_OP.FADD:
            return atomic(self, op, pointers, value, mask, *args)
        # One after another: two of them may have the same address.
        before = np.zeros(value.data.shape, np.uint16)
        for at in zip(*np.nonzero(np.broadcast_to(mask.data, before.shape)), strict=True):
            pointer, one = (
                interpreter.TensorHandle(x.data[at].reshape(1), x.dtype) for x in (pointers, value)
            )
            always = interpreter.TensorHandle(np.ones(1, bool), tl.int1)
            # Not as kernels do: what another program added is no race.
            old = load(self, pointer, always, None, None, False)
            store(self, pointer, self.create_fadd(old, one), always, None)
            before[at] = old.data[0]
        return interpreter.TensorHandle(before, tl.bfloat16)

    def reduced(function: Any) -> Any:
        def reduce(self: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
            if value.dtype.scalar != tl.bfloat16:
                return function(self, value, *args, **kwargs)
            made = function(
                self, self.to_tensor(_widened(value.handle).data, _FLOAT), *args, **kwargs
            )
            several = made if isinstance(made, (tuple, list)) else (made,)
            # Of a value and its index, only the value has the input's type.
            narrow = [
                tl.tensor(_narrowed(one.handle), one.type.with_element_ty(tl.bfloat16))
                if one.dtype.scalar == _FLOAT
                else one
                for one in several
            ]
            return type(made)(narrow) if isinstance(made, (tuple, list)) else narrow[0]

        return reduce

    patch(builder, "cast_impl", cast_impl)
    patch(builder, "create_dot", dot)
    patch(builder, "create_atomic_rmw", atomic_rmw)
    for name in ("binary_op", "unary_op", "ternary_op", "create_fma"):
        patch(builder, name, computed(getattr(builder, name)))
    for owner, names in (
        (interpreter.ReduceOps, ("min_max", "sum")),
        (interpreter.ScanOps, ("cumsum", "cumprod")),
    ):
        for name in names:
            patch(owner, name, reduced(getattr(owner, name)))


def _widened(value: Any) -> Any:
    """Returns bfloat16 as float32, and everything else as it is."""
    if not isinstance(value, interpreter.TensorHandle) or value.dtype.scalar != tl.bfloat16:
        return value
    return interpreter.TensorHandle((value.data.astype(np.uint32) << 16).view(np.float32), _FLOAT)


def _narrowed(value: Any) -> Any:
    bits = value.data.view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    made = np.where(np.isnan(value.data), 0x7FFF, rounded).astype(np.uint16)
    return interpreter.TensorHandle(made, tl.bfloat16)
