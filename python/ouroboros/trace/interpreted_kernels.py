"""Triton's interpreter, switched on for a while in a process where Triton may be in use already.

The interpreter follows raw addresses, so a kernel that leaves its tensors would read the process
around it. Here every access is held against the tensors that the candidate owns first.
"""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, Protocol
from unittest import mock

import numpy as np
import triton
import triton.language as tl
import triton.runtime.interpreter as interpreter
from triton.runtime.jit import JITFunction

from ouroboros.trace.interpreted_float8 import float8

__all__ = ["Memory", "interpreted"]

FLOAT = tl.float32


class Memory(Protocol):
    """What kernels may touch; the host side keeps account of it."""

    def launching(self) -> contextlib.AbstractContextManager[None]:
        """A launch: what happens inside is not the candidate's host code."""

    def ranges(self) -> tuple[Any, Any, Any]:
        """First addresses, ends and whether one may write, as arrays sorted by address."""

    def refuse(self, kind: str, op: str, message: str) -> NoReturn:
        """Ends the run of the candidate."""


@contextlib.contextmanager
def interpreted(memory: Memory) -> Iterator[None]:
    """Candidates that are loaded inside run their kernels in the interpreter, within `memory`."""
    with contextlib.ExitStack() as stack:
        before = triton.knobs.runtime.interpret
        stack.callback(setattr, triton.knobs.runtime, "interpret", before)
        triton.knobs.runtime.interpret = True
        _interpret_library(stack)
        _libdevice(stack)
        _bfloat16(stack)
        float8(stack)
        _reductions(stack)
        _bounds(stack, memory)
        _launches(stack, memory)
        # Autotuning asks the driver for a clock. None is needed: with equal times the first wins.
        driver = triton.runtime.driver
        stack.callback(setattr, driver, "_active", driver._active)
        driver.set_active(_NoDevice())
        stack.enter_context(np.errstate(all="ignore"))
        yield


class _NoDevice:
    """The little that Triton's host code asks of a driver when nothing is compiled."""

    def get_benchmarker(self) -> Callable[..., list[float]]:
        return lambda *_, **__: [0.0, 0.0, 0.0]

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, _device: object = None) -> int:
        return 0

    def get_current_target(self) -> Any:
        from triton.backends.compiler import GPUTarget

        return GPUTarget("cuda", 90, 32)


def _patch(stack: contextlib.ExitStack, owner: object, name: str, value: object) -> None:
    stack.enter_context(mock.patch.object(owner, name, value))


def _interpret_library(stack: contextlib.ExitStack) -> None:
    """`tl.sum` and its like were made for the compiler when Triton was imported: make them anew."""
    made: dict[int, Any] = {}
    for module in [m for name, m in sys.modules.items() if name.startswith("triton.")]:
        for name, value in list(vars(module).items()):
            if isinstance(value, JITFunction):
                if id(value) not in made:
                    made[id(value)] = interpreter.InterpretedFunction(value.fn)
                _patch(stack, module, name, made[id(value)])


def _bounds(stack: contextlib.ExitStack, memory: Memory) -> None:
    builder = interpreter.InterpreterBuilder
    load, store = builder.create_masked_load, builder.create_masked_store
    rmw, cas = builder.create_atomic_rmw, builder.create_atomic_cas

    def check(op: str, pointers: Any, mask: Any, write: bool) -> None:
        addresses = pointers.data
        if mask is not None:
            addresses = addresses[np.broadcast_to(mask.data.astype(bool), addresses.shape)]
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

    def masked_load(self: Any, pointers: Any, mask: Any, *args: Any, **kwargs: Any) -> Any:
        check("load", pointers, mask, write=False)
        return load(self, pointers, mask, *args, **kwargs)

    def masked_store(self: Any, pointers: Any, value: Any, mask: Any, *args: Any) -> Any:
        check("store", pointers, mask, write=True)
        return store(self, pointers, value, mask, *args)

    def atomic_rmw(self: Any, op: Any, pointers: Any, value: Any, mask: Any, *args: Any) -> Any:
        check("atomic", pointers, mask, write=True)
        return rmw(self, op, pointers, value, mask, *args)

    def atomic_cas(self: Any, pointers: Any, *args: Any) -> Any:
        check("atomic", pointers, None, write=True)
        return cas(self, pointers, *args)

    _patch(stack, builder, "create_masked_load", masked_load)
    _patch(stack, builder, "create_masked_store", masked_store)
    _patch(stack, builder, "create_atomic_rmw", atomic_rmw)
    _patch(stack, builder, "create_atomic_cas", atomic_cas)


def _bfloat16(stack: contextlib.ExitStack) -> None:
    """Lets kernels compute in bfloat16, rounded to the nearest with ties to even, as GPUs do.

    The interpreter holds its bits as integers, adds and compares those, and only truncates.
    """
    builder = interpreter.InterpreterBuilder
    cast, atomic = builder.cast_impl, builder.create_atomic_rmw

    def cast_impl(self: Any, source: Any, kind: Any) -> Any:
        if tl.bfloat16 not in (source.dtype.scalar, kind.scalar):
            return cast(self, source, kind)
        wide = _widened(source)
        if kind.scalar == tl.bfloat16:
            return _narrowed(wide if wide.dtype.scalar == FLOAT else cast(self, wide, FLOAT))
        return wide if kind.scalar == FLOAT else cast(self, wide, kind)

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
            old = self.create_masked_load(pointer, always, None, None, False)
            self.create_masked_store(pointer, self.create_fadd(old, one), always, None)
            before[at] = old.data[0]
        return interpreter.TensorHandle(before, tl.bfloat16)

    def reduced(function: Any) -> Any:
        def reduce(self: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
            if value.dtype.scalar != tl.bfloat16:
                return function(self, value, *args, **kwargs)
            made = function(
                self, self.to_tensor(_widened(value.handle).data, FLOAT), *args, **kwargs
            )
            several = made if isinstance(made, (tuple, list)) else (made,)
            # Of a value and its index, only the value has the input's type.
            narrow = [
                self.to_tensor(_narrowed(one.handle).data, tl.bfloat16)
                if one.dtype.scalar == FLOAT
                else one
                for one in several
            ]
            return type(made)(narrow) if isinstance(made, (tuple, list)) else narrow[0]

        return reduce

    multiplied = builder.create_dot
    _patch(stack, builder, "cast_impl", cast_impl)
    _patch(stack, builder, "create_dot", dot)
    _patch(stack, builder, "create_atomic_rmw", atomic_rmw)
    for name in ("binary_op", "unary_op", "ternary_op", "create_fma"):
        _patch(stack, builder, name, computed(getattr(builder, name)))
    for owner, names in (
        (interpreter.ReduceOps, ("min_max", "sum")),
        (interpreter.ScanOps, ("cumsum", "cumprod")),
    ):
        for name in names:
            _patch(stack, owner, name, reduced(getattr(owner, name)))


def _widened(value: Any) -> Any:
    """Returns bfloat16 as float32, and everything else as it is."""
    if not isinstance(value, interpreter.TensorHandle) or value.dtype.scalar != tl.bfloat16:
        return value
    return interpreter.TensorHandle((value.data.astype(np.uint32) << 16).view(np.float32), FLOAT)


def _narrowed(value: Any) -> Any:
    bits = value.data.view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    made = np.where(np.isnan(value.data), 0x7FFF, rounded).astype(np.uint16)
    return interpreter.TensorHandle(made, tl.bfloat16)


def _reductions(stack: contextlib.ExitStack) -> None:
    """Reduces and scans by a candidate's own function in steps that double, as GPUs do.

    The interpreter calls it once an element, which takes seconds for a long row.
    """

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

    _patch(stack, interpreter.ScanOps, "generic_scan", generic_scan)
    _patch(stack, interpreter.ReduceOps, "generic_reduce", generic_reduce)


def _launches(stack: contextlib.ExitStack, memory: Memory) -> None:
    run = interpreter.InterpretedFunction.run

    def launch(self: Any, *args: Any, **kwargs: Any) -> Any:
        with memory.launching():
            return run(self, *args, **kwargs)

    _patch(stack, interpreter.InterpretedFunction, "run", launch)


_SAME = (
    "cbrt ceil copysign cos cosh exp exp2 expm1 fabs floor fmod hypot isinf isnan ldexp log log10 "
    "log1p log2 nextafter rint signbit sin sinh sqrt tan tanh trunc"
)
_MATHS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in _SAME.split()},
    "abs": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "erfc": np.vectorize(math.erfc, otypes=[np.float64]),
    "exp10": lambda x: np.power(x.dtype.type(10), x),
    "fast_cosf": np.cos,
    "fast_exp10f": lambda x: np.power(x.dtype.type(10), x),
    "fast_expf": np.exp,
    "fast_fdividef": np.divide,
    "fast_log10f": np.log10,
    "fast_log2f": np.log2,
    "fast_logf": np.log,
    "fast_powf": np.power,
    "fast_sinf": np.sin,
    "fast_tanf": np.tan,
    "fma": lambda x, y, z: x.astype(np.float64) * y + z,
    "fma_rn": lambda x, y, z: x.astype(np.float64) * y + z,
    "lgamma": np.vectorize(math.lgamma, otypes=[np.float64]),
    "nearbyint": np.rint,
    "normcdf": np.vectorize(lambda x: math.erfc(-x / math.sqrt(2)) / 2, otypes=[np.float64]),
    "pow": np.power,
    "powi": np.power,
    "remainder": lambda x, y: x - y * np.rint(x / y),
    "rhypot": lambda x, y: 1 / np.hypot(x, y),
    "round": lambda x: np.trunc(x + np.copysign(0.5, x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "saturate": lambda x: np.fmin(np.fmax(x, 0), 1),
    **{
        f"{kind}{name}_rn": function
        for kind in "fd"
        for name, function in {
            "add": np.add,
            "sub": np.subtract,
            "mul": np.multiply,
            "div": np.divide,
            "rcp": np.reciprocal,
            "sqrt": np.sqrt,
        }.items()
    },
}
"""Functions of libdevice that the interpreter gets to know, by their names without `__nv_`."""


def _libdevice(stack: contextlib.ExitStack) -> None:
    """Lets kernels call functions of libdevice, the best known by way of NumPy."""

    def extern(
        _self: Any, _name: str, _path: str, symbol: str, arguments: Any, kind: Any, _pure: bool
    ) -> Any:
        bare = symbol.removeprefix("__nv_")
        function = _MATHS.get(bare) or _MATHS.get(bare.removesuffix("f"))
        if function is None:
            raise NotImplementedError(f"{symbol} not supported in interpreter mode")
        values = function(*(argument.data for argument in arguments))
        dtype = kind.scalar
        made = np.asarray(values).astype(interpreter._get_np_dtype(dtype))
        return interpreter.TensorHandle(made, dtype)

    _patch(stack, interpreter.InterpreterBuilder, "create_extern_elementwise", extern)
    from triton.language import core
    from triton.language.extra import libdevice
    from triton.language.extra.cuda import libdevice as cuda

    for name, member in list(vars(cuda).items()):
        if core.is_builtin(member):
            _patch(stack, cuda, name, _with_semantic(member))
            # The general module holds names only; compilers put the target's in their place.
            if hasattr(libdevice, name):
                _patch(stack, libdevice, name, _with_semantic(member))


def _with_semantic(member: Callable[..., Any]) -> Callable[..., Any]:
    def called(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop("_semantic", None)
        return member(*args, **kwargs, _semantic=interpreter.interpreter_semantic)

    return called
