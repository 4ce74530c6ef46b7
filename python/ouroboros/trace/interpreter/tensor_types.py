"""Types in Triton's interpreter, made once for all programs.

The interpreter by itself makes the type and the shape of every value anew, for every operation of
every program.
"""

from __future__ import annotations

import contextlib
from typing import Any
from unittest import mock

import triton.language as tl
import triton.runtime.interpreter as interpreter

__all__ = ["types"]

_OF_ONE_VALUE = ("handle", "type", "dtype")


def types(stack: contextlib.ExitStack) -> None:
    """Has them remembered, within `stack`."""
    stack.enter_context(mock.patch.object(tl.tensor, "__init__", _shapes_once()))
    stack.enter_context(mock.patch.object(tl.block_type, "__init__", _blocks_once()))
    stack.enter_context(mock.patch.object(interpreter, "_get_np_dtype", _layouts_once()))


def _shapes_once() -> Any:
    """Returns what makes a tensor; those of one shape have what follows from it in common."""
    make = tl.tensor.__init__
    made: dict[Any, dict[str, Any]] = {}

    def init(self: Any, handle: Any, type: Any) -> None:
        shape = tuple(type.shape) if type.is_block() else ()
        if shape not in made:
            make(self, handle, type)
            made[shape] = {k: v for k, v in vars(self).items() if k not in _OF_ONE_VALUE}
            return
        vars(self).update(made[shape], handle=handle, type=type, dtype=type.scalar)

    return init


def _blocks_once() -> Any:
    """Returns what makes the type of a block; those that are equal have all in common."""
    make = tl.block_type.__init__
    made: dict[Any, dict[str, Any]] = {}

    def init(self: Any, element_ty: Any, shape: Any) -> None:
        extents = [one.value if isinstance(one, tl.constexpr) else one for one in shape]
        # What is made keeps the element's type, so that no other one gets its number.
        key = id(element_ty), *extents
        if key not in made:
            make(self, element_ty, shape)
            made[key] = dict(vars(self))
            return
        vars(self).update(made[key])

    return init


def _layouts_once() -> Any:
    """Returns what finds NumPy's type for one of Triton's."""
    find = interpreter._get_np_dtype
    found: dict[int, Any] = {}

    def layout(kind: Any) -> Any:
        element = kind.element_ty if isinstance(kind, tl.block_type) else kind
        if type(element) is not tl.dtype:
            return find(element)
        if id(element) not in found:
            found[id(element)] = element, find(element)
        return found[id(element)][1]

    return layout
