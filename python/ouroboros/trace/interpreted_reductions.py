"""Reductions and scans by a candidate's own function in Triton's interpreter, as GPUs make them.

The interpreter by itself calls the function once an element, which takes seconds for a long row.
"""

from __future__ import annotations

import contextlib
from typing import Any
from unittest import mock

import numpy as np
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
        joined = self.combine_fn.fn(*left, *right)
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

    for owner, name, made in (
        (interpreter.ScanOps, "generic_scan", generic_scan),
        (interpreter.ReduceOps, "generic_reduce", generic_reduce),
    ):
        stack.enter_context(mock.patch.object(owner, name, made))
