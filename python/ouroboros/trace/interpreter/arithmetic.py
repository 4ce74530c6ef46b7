"""Arithmetic in Triton's interpreter, rounded where a GPU rounds it.

The interpreter by itself rounds a product before it is added to, as no compiler for a GPU does, has
better exponentials than a GPU, and turns numbers into integers as this machine's processor would. A
kernel could tell from each of them that it is interpreted.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import triton.language as tl
import triton.runtime.interpreter as interpreter

__all__ = ["arithmetic", "fused"]

_LOG2_E = np.float32(math.log2(math.e))
_FACTORS = "ouroboros_factors"
"""The attribute that says of what a value is the product."""

_NARROWEST = 16
"""Bits of what `cvt` makes (PTX ISA): an integer of 8 is cut from it."""


def arithmetic(stack: contextlib.ExitStack) -> None:
    """Corrects exponentials and conversions, within `stack`."""
    builder = interpreter.InterpreterBuilder
    exact, exact_of_two = builder.create_exp, builder.create_exp2

    def exp(self: Any, x: Any) -> Any:
        if x.dtype.scalar != tl.float32:
            return exact(self, x)
        return exp2(self, interpreter.TensorHandle(x.data * _LOG2_E, tl.float32))

    def exp2(self: Any, x: Any) -> Any:
        made = exact_of_two(self, x)
        if x.dtype.scalar != tl.float32:
            return made
        # `ex2.approx` errs by up to 2^-22 of its result (PTX ISA), by nothing at integers.
        bits = np.ascontiguousarray(made.data).view(np.uint32)
        short = (bits + ((bits >> np.uint32(1)) & np.uint32(1))) & ~np.uint32(1)
        return interpreter.TensorHandle(short.view(np.float32).reshape(x.data.shape), tl.float32)

    _patch(stack, {"create_exp": exp, "create_exp2": exp2})
    _patch(stack, {"create_fp_to_si": _to_integer, "create_fp_to_ui": _to_integer})


def fused(stack: contextlib.ExitStack) -> None:
    """Has sums with a product round once, within `stack`: LLVM and ptxas contract them.

    Where both terms are products, the first is the one that is not rounded (LLVM's DAGCombiner, but
    for a first one that is used elsewhere too, which is not seen here): test_arithmetic.py in
    tests/gpu has a GPU say the same.
    """
    builder = interpreter.InterpreterBuilder
    multiply, negate = builder.create_fmul, builder.create_fneg
    add, subtract = builder.create_fadd, builder.create_fsub

    def fmul(self: Any, left: Any, right: Any) -> Any:
        made = multiply(self, left, right)
        # Without what they are products of: that would keep all of a loop's values.
        bare = tuple(interpreter.TensorHandle(one.data, one.dtype) for one in (left, right))
        made.set_attr(_FACTORS, bare)
        return made

    def fadd(self: Any, left: Any, right: Any) -> Any:
        for product, other in ((left, right), (right, left)):
            if factors := product.attr.get(_FACTORS):
                return self.create_fma(*factors, other)
        return add(self, left, right)

    def fsub(self: Any, left: Any, right: Any) -> Any:
        if factors := left.attr.get(_FACTORS):
            return self.create_fma(*factors, negate(self, right))
        if factors := right.attr.get(_FACTORS):
            return self.create_fma(negate(self, factors[0]), factors[1], left)
        return subtract(self, left, right)

    _patch(stack, {"create_fmul": fmul, "create_fadd": fadd, "create_fsub": fsub})
    for name in ("create_splat", "create_broadcast", "create_expand_dims", "create_reshape"):
        _patch(stack, {name: _of_products(getattr(builder, name))})


def _patch(stack: contextlib.ExitStack, methods: dict[str, Callable[..., Any]]) -> None:
    for name, method in methods.items():
        stack.enter_context(mock.patch.object(interpreter.InterpreterBuilder, name, method))


def _of_products(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a change of shape, whose result is still a product."""

    def change(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = function(self, *args, **kwargs)
        for place, one in enumerate(args):
            if isinstance(one, interpreter.TensorHandle) and (factors := one.attr.get(_FACTORS)):
                before, after = args[:place], args[place + 1 :]
                parts = tuple(function(self, *before, part, *after, **kwargs) for part in factors)
                made.set_attr(_FACTORS, parts)
        return made

    return change


def _to_integer(self: Any, source: Any, kind: Any) -> Any:
    """Converts as `cvt.rzi` does (PTX ISA 9.0): no number becomes another's remainder."""
    if source.dtype.scalar == tl.bfloat16:
        source = self.cast_impl(source, tl.float32)
    dtype = np.dtype(interpreter._get_np_dtype(kind))
    bits = max(8 * dtype.itemsize, _NARROWEST)
    wide = np.dtype(f"{dtype.kind}{bits // 8}")
    low, high = int(np.iinfo(wide).min), int(np.iinfo(wide).max)
    values = np.trunc(source.data.astype(np.float64))
    inside = (values >= low) & (values < high + 1)
    made = np.where(inside, values, 0.0).astype(wide)
    made = np.where(values >= high + 1, wide.type(high), made)
    made = np.where(values < low, wide.type(low), made)
    if bits == 64 or source.data.dtype == np.float64:
        # What is no number is 0 elsewhere, which it is already.
        top = wide.type(low if low else 1 << (bits - 1))
        made = np.where(np.isnan(values), top, made)
    return interpreter.TensorHandle(made.astype(dtype), kind.scalar)
