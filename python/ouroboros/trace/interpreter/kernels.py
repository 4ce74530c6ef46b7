"""Triton's interpreter, switched on for a while in a process where Triton may be in use already.

The interpreter follows raw addresses, so a kernel that leaves its tensors would read the process
around it. Here every access is held against the tensors that the candidate owns first.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from functools import partialmethod
from typing import Any, NoReturn, Protocol
from unittest import mock

import numpy as np
import triton
import triton.language as tl
import triton.runtime.interpreter as interpreter
from triton.runtime.jit import JITFunction

from ouroboros.trace.interpreter.arithmetic import arithmetic
from ouroboros.trace.interpreter.bfloat16 import bfloat16
from ouroboros.trace.interpreter.descriptors import descriptors
from ouroboros.trace.interpreter.elements import elements
from ouroboros.trace.interpreter.float8 import float8
from ouroboros.trace.interpreter.libdevice import libdevice
from ouroboros.trace.interpreter.operators import operators
from ouroboros.trace.interpreter.programs import Programs
from ouroboros.trace.interpreter.reductions import reductions
from ouroboros.trace.interpreter.tensor_types import types
from ouroboros.trace.interpreter.tf32 import tf32

__all__ = ["Memory", "interpreted"]


class Memory(Protocol):
    """What kernels may touch."""

    def ranges(self) -> tuple[Any, Any, Any]:
        """First addresses, ends and whether one may write, as arrays sorted by address."""

    def refuse(self, kind: str, op: str, message: str) -> NoReturn:
        """Ends the run of the candidate."""

    @property
    def programs(self) -> Programs:
        """The programs of the launch that runs."""


class _Found(interpreter.TensorHandle):  # type: ignore[misc]
    """What lay where something atomic was done. Who looks at it learns of other programs."""

    def __init__(self, found: Any, programs: Programs) -> None:
        self._programs: Programs | None = None  # Nobody looks yet.
        super().__init__(found.data, found.dtype, found.attr)
        self._programs = programs

    @property
    def data(self) -> Any:
        """The numbers that were found."""
        if self._programs is not None:
            self._programs.learn()
        return self._data

    @data.setter
    def data(self, data: Any) -> None:
        self._data = data


class _OfLibrary(interpreter.InterpretedFunction):  # type: ignore[misc]
    """A function of Triton's library."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls it from a kernel, whose launch has put the interpreter's operators in place.

        Triton's own does that again for each call, which takes longer than all else.
        """
        return self.rewrite()(*args, **kwargs)


@contextlib.contextmanager
def interpreted(memory: Memory) -> Iterator[None]:
    """Candidates that are loaded inside run their kernels in the interpreter, within `memory`."""
    with contextlib.ExitStack() as stack:
        before = triton.knobs.runtime.interpret
        stack.callback(setattr, triton.knobs.runtime, "interpret", before)
        triton.knobs.runtime.interpret = True
        _interpret_library(stack)
        types(stack)
        libdevice(stack)
        operators(stack)
        elements(stack)
        descriptors(stack)
        arithmetic(stack)
        bfloat16(stack)
        float8(stack)
        tf32(stack)
        reductions(stack)
        _bounds(stack, memory)
        _order(stack, memory.programs)
        _assertions(stack, memory)
        stack.enter_context(np.errstate(all="ignore"))
        yield


def _patch(stack: contextlib.ExitStack, owner: object, name: str, value: object) -> None:
    stack.enter_context(mock.patch.object(owner, name, value))


def _interpret_library(stack: contextlib.ExitStack) -> None:
    """`tl.sum` and its like were made for the compiler when Triton was imported: make them anew."""
    made: dict[int, Any] = {}

    def anew(owner: Any) -> Iterator[tuple[str, Any]]:
        for name, value in list(vars(owner).items()):
            if isinstance(value, JITFunction):
                if id(value) not in made:
                    made[id(value)] = _OfLibrary(value.fn)
                yield name, made[id(value)]

    for module in [m for name, m in sys.modules.items() if name.startswith("triton.")]:
        for name, function in anew(module):
            _patch(stack, module, name, function)
    for name, function in anew(tl.tensor):
        # Python binds what it finds in a class only if it is a function: `x.sum(0)`.
        _patch(stack, tl.tensor, name, partialmethod(function))


def _bounds(stack: contextlib.ExitStack, memory: Memory) -> None:
    builder = interpreter.InterpreterBuilder
    load, store = builder.create_masked_load, builder.create_masked_store
    rmw, cas = builder.create_atomic_rmw, builder.create_atomic_cas
    programs = memory.programs

    def check(op: str, pointers: Any, mask: Any, write: bool, value: Any = None) -> None:
        addresses = pointers.data
        chosen = np.ones(addresses.shape, bool)
        if mask is not None:
            chosen = np.broadcast_to(mask.data.astype(bool), addresses.shape)
        addresses = addresses[chosen]
        if addresses.size == 0:
            return
        addresses = addresses.astype(np.int64)
        bytes_each = max(1, pointers.get_element_ty().primitive_bitwidth // 8)
        starts, ends, writable = memory.ranges()
        which = np.searchsorted(starts, addresses, side="right") - 1
        inside = (which >= 0) & (addresses + bytes_each <= ends[np.maximum(which, 0)])
        if not inside.all():
            address = int(addresses[~inside].flat[0])
            distance = min(
                [(abs(address - int(s)), "before the start") for s in starts if address < s]
                + [(address - int(e), "past the end") for e in ends if address >= int(e)]
                or [(0, "across the end")]
            )
            memory.refuse(
                "out_of_bounds",
                op,
                f"{op} of {bytes_each} bytes, {distance[0]} bytes {distance[1]} of the nearest "
                "tensor: mask what lies outside",
            )
        if write and not writable[which].all():
            memory.refuse("input_written", op, f"{op} to an input, and inputs are read-only")
        values = None if value is None else np.broadcast_to(value.data, chosen.shape)[chosen]
        if op != "atomic" and programs.clash(memory.ranges(), which, addresses, bytes_each, values):
            memory.refuse(
                "race",
                op,
                f"{op} of what another program of the same launch wrote: they run in any order, "
                "and it had not looked, by something atomic, before",
            )

    def masked_load(
        self: Any, pointers: Any, mask: Any, other: Any, cache_policy: Any, is_volatile: Any
    ) -> Any:
        if is_volatile:
            programs.look()
            programs.learn()
        check("load", pointers, mask, write=False)
        return load(self, pointers, mask, other, cache_policy, is_volatile)

    def masked_store(self: Any, pointers: Any, value: Any, mask: Any, *args: Any) -> Any:
        check("store", pointers, mask, write=True, value=value)
        return store(self, pointers, value, mask, *args)

    def atomic_rmw(self: Any, op: Any, pointers: Any, value: Any, mask: Any, *args: Any) -> Any:
        programs.look()
        check("atomic", pointers, mask, write=True)
        return _Found(rmw(self, op, pointers, value, mask, *args), programs)

    def atomic_cas(self: Any, pointers: Any, *args: Any) -> Any:
        programs.look()
        check("atomic", pointers, None, write=True)
        return _Found(cas(self, pointers, *args), programs)

    _patch(stack, builder, "create_masked_load", masked_load)
    _patch(stack, builder, "create_masked_store", masked_store)
    _patch(stack, builder, "create_atomic_rmw", atomic_rmw)
    _patch(stack, builder, "create_atomic_cas", atomic_cas)


def _order(stack: contextlib.ExitStack, programs: Programs) -> None:
    builder = interpreter.InterpreterBuilder
    place = builder.set_grid_idx

    def set_grid_idx(self: Any, x: int, y: int, z: int) -> None:
        place(self, *programs.turn(x, y, z))

    _patch(stack, builder, "set_grid_idx", set_grid_idx)


def _assertions(stack: contextlib.ExitStack, memory: Memory) -> None:
    """What fails here fails on a GPU, too; every other exception is the interpreter's own."""

    def checked(function: Any) -> Any:
        def check(*args: Any) -> Any:
            try:
                return function(*args)
            except AssertionError as error:
                memory.refuse("exception", "assertion", f"AssertionError: {error}")

        return check

    for owner, name in (
        (interpreter.InterpreterBuilder, "create_assert"),
        (interpreter.InterpreterBuilder, "create_assume"),
        (interpreter.TensorDescHandle, "validate"),
    ):
        _patch(stack, owner, name, checked(getattr(owner, name)))
