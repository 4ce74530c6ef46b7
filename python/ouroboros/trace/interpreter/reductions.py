"""Reductions and scans in Triton's interpreter, as GPUs make them: in steps that double.

The interpreter by itself calls a candidate's own function once an element, which takes seconds for
a long row. It adds 16-bit floats in 32 bits, and looks for a largest number by NumPy, which passes
over what is no number and takes the first of equal ones whatever a kernel asks for.
"""

from __future__ import annotations

import contextlib
from typing import Any
from unittest import mock

import numpy as np
import triton.language as tl
import triton.runtime.interpreter as interpreter

__all__ = ["reductions"]


def reductions(stack: contextlib.ExitStack) -> None:
    """Has them made in steps that double, within `stack`."""

    def steps(self: Any, values: Any, apart: int, width: int) -> Any:
        """Joins every element with the one that lies `apart` before it."""
        places = np.arange(width)
        earlier = [np.take(x, np.maximum(places - apart, 0), axis=-1) for x, _ in values]
        kinds = [kind for _, kind in values]
        left = [self.to_tensor(x, kind) for x, kind in zip(earlier, kinds, strict=True)]
        right = [self.to_tensor(x, kind) for x, kind in values]
        joined = _function(self.combine_fn)(*left, *right)
        made = joined if isinstance(joined, tuple) else (joined,)
        return [
            (np.where(places >= apart, one.handle.data, x), kind)
            for one, (x, kind) in zip(made, values, strict=True)
        ]

    def scanned(self: Any, inputs: Any, axis: int) -> Any:
        values = [(np.moveaxis(one.handle.data, axis, -1), one.dtype) for one in inputs]
        width = values[0][0].shape[-1]
        apart = 1
        while apart < width:
            values = steps(self, values, apart, width)
            apart *= 2
        return values

    def generic_scan(self: Any, inputs: Any) -> Any:
        return [
            self.to_tensor(np.ascontiguousarray(np.moveaxis(x, -1, self.axis)), kind)
            for x, kind in scanned(self, inputs, self.axis)
        ]

    def generic_reduce(self: Any, inputs: Any) -> Any:
        dimensions = len(inputs[0].shape)
        flat, axis = self.unravel(inputs, self.axis)
        made = []
        for x, kind in scanned(self, flat, axis):
            last = x[..., -1]
            if self.keep_dims:
                last = last.reshape((1,) * dimensions) if self.axis is None else last
                last = last if self.axis is None else np.expand_dims(last, axis)
            made.append(self.to_tensor(last if last.shape else last.item(), kind))
        return made

    reduce, scan = interpreter.ReduceOps.apply_impl, interpreter.ScanOps.apply_impl

    def reduce_all(self: Any, inputs: Any) -> Any:
        if _place(self.combine_fn) is not None or _is_coarse(self.combine_fn, inputs):
            return self.generic_reduce(inputs)
        return reduce(self, inputs)

    def scan_all(self: Any, inputs: Any) -> Any:
        if not _is_coarse(self.combine_fn, inputs):
            return scan(self, inputs)
        with (
            mock.patch.object(self, "cumsum", lambda one: self.generic_scan((one,))),
            mock.patch.object(self, "cumprod", lambda one: self.generic_scan((one,))),
        ):
            return scan(self, inputs)

    for owner, name, made in (
        (interpreter.ScanOps, "apply_impl", scan_all),
        (interpreter.ScanOps, "generic_scan", generic_scan),
        (interpreter.ReduceOps, "apply_impl", reduce_all),
        (interpreter.ReduceOps, "generic_reduce", generic_reduce),
    ):
        stack.enter_context(mock.patch.object(owner, name, made))


def _is_coarse(function: Any, inputs: Any) -> bool:
    """Tells whether this adds or multiplies 16-bit floats: a GPU rounds at every step."""
    library = (tl.standard._sum_combine, tl.standard._prod_combine)
    return function in library and inputs[0].dtype.scalar in (tl.float16, tl.bfloat16)


def _function(function: Any) -> Any:
    """Returns what joins whole arrays as the function of a kernel joins two elements."""
    return _place(function) or function.fn


def _place(function: Any) -> Any:
    """Returns what joins numbers and their places if the function is one of `tl.argmax` and such.

    The library's text has `and` between its comparisons, which NumPy has not for arrays.
    """
    standard = tl.standard
    for largest, first, one in (
        (True, True, standard._argmax_combine_tie_break_left),
        (True, False, standard._argmax_combine_tie_break_fast),
        (False, True, standard._argmin_combine_tie_break_left),
        (False, False, standard._argmin_combine_tie_break_fast),
    ):
        if function is one:
            return _joining_places(largest, first)
    return None


def _joining_places(largest: bool, first: bool) -> Any:
    """Returns the library's own function: any comparison with what is no number is false."""

    def join(value: Any, place: Any, other: Any, other_place: Any) -> Any:
        stays = value > other if largest else value < other
        if first:
            stays = stays | ((value == other) & (place < other_place))
        return tl.where(stays, value, other), tl.where(stays, place, other_place)

    return join
