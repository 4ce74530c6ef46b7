"""Functions of libdevice in Triton's interpreter, the best known by way of NumPy."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import torch
import triton.runtime.interpreter as interpreter
from triton.language import core
from triton.language.extra import libdevice as anywhere
from triton.language.extra.cuda import libdevice as cuda

from ouroboros.trace.interpreter.libdevice_words import WORDS

__all__ = ["libdevice"]

_SAME = (
    "cbrt ceil copysign cos cosh exp exp2 expm1 fabs floor fmod hypot isinf isnan ldexp log log10 "
    "log1p log2 nextafter rint signbit sin sinh sqrt tan tanh trunc"
)


def _to_nearest(x: Any) -> Any:
    """Rounds halves away from zero."""
    whole = np.trunc(x)
    return np.copysign(whole + np.where(np.abs(x - whole) >= 0.5, np.sign(x), 0), x)


def _of_half_turns(x: Any, quarters: int) -> Any:
    """Returns the sine of an angle in half turns, so many quarters of a turn further."""
    x = x.astype(np.float64)
    nearest = np.rint(2 * x)
    rest = math.pi * (x - nearest / 2)
    turned = (nearest + quarters) % 4
    made = np.where(turned % 2 == 0, np.sin(rest), np.cos(rest))
    return np.where(turned >= 2, -made, made)


def _gamma(x: float) -> float:
    try:
        return math.gamma(x)
    except OverflowError:
        return math.copysign(math.inf, x)
    except ValueError:  # A pole.
        return math.nan if x else math.copysign(math.inf, x)


def _of_torch(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[Any], Any]:
    return lambda x: function(torch.from_numpy(x.astype(np.float64))).numpy()


def _of_float32(x: Any, factor: float) -> Any:
    """Returns a product that is rounded to float32, for an exact function of it."""
    return (x * np.float32(factor)).astype(np.float64)


def _turn(x: Any) -> Any:
    """Returns an angle as `sin.approx` has it: a rounded number of turns."""
    return 2 * math.pi * _of_float32(x, 0.5 / math.pi)


# `__expf` and its like are products around `ex2.approx`, `lg2.approx` and `sin.approx` (CUDA C++
# Programming Guide, "Intrinsic Functions"): what these round here is what they round there.
_FAST: dict[str, Callable[..., Any]] = {
    "fast_cosf": lambda x: np.cos(_turn(x)),
    "fast_exp10f": lambda x: np.exp2(_of_float32(x, math.log2(10))),
    "fast_expf": lambda x: np.exp2(_of_float32(x, math.log2(math.e))),
    "fast_fdividef": np.divide,
    "fast_log10f": np.log10,
    "fast_log2f": np.log2,
    "fast_logf": np.log,
    "fast_powf": lambda x, y: np.exp2((y * np.log2(x)).astype(np.float64)),
    "fast_sinf": lambda x: np.sin(_turn(x)),
    "fast_tanf": lambda x: np.tan(_turn(x)),
}

_MATHS: dict[str, Callable[..., Any]] = {
    **_FAST,
    **WORDS,
    **{name: getattr(np, name) for name in _SAME.split()},
    "abs": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "cospi": lambda x: _of_half_turns(x, 1),
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "erfc": np.vectorize(math.erfc, otypes=[np.float64]),
    "erfcinv": lambda x: -_of_torch(torch.special.ndtri)(x / 2) / math.sqrt(2),
    "erfcx": _of_torch(torch.special.erfcx),
    "erfinv": _of_torch(torch.special.erfinv),
    "exp10": lambda x: np.power(x.dtype.type(10), x),
    "fdim": lambda x, y: np.where(x <= y, 0, x - y),
    "finite": np.isfinite,
    "fma": lambda x, y, z: x.astype(np.float64) * y + z,
    "fma_rn": lambda x, y, z: x.astype(np.float64) * y + z,
    "frsqrt_rn": lambda x: 1 / np.sqrt(x.astype(np.float64)),
    "isfinited": np.isfinite,
    "isinfd": np.isinf,
    "isnand": np.isnan,
    "lgamma": _of_torch(torch.lgamma),
    "logb": lambda x: np.where(np.isfinite(x) & (x != 0), np.frexp(x)[1] - 1.0, np.log(np.abs(x))),
    "llrint": np.rint,
    "llround": _to_nearest,
    "nearbyint": np.rint,
    "normcdf": np.vectorize(lambda x: math.erfc(-x / math.sqrt(2)) / 2, otypes=[np.float64]),
    "normcdfinv": _of_torch(torch.special.ndtri),
    "pow": np.power,
    "powi": np.power,
    "rcbrt": lambda x: 1 / np.cbrt(x.astype(np.float64)),
    "remainder": lambda x, y: x - y * np.rint(x / y),
    "rhypot": lambda x, y: 1 / np.hypot(x, y),
    "round": _to_nearest,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "saturate": lambda x: np.fmin(np.fmax(x, 0), 1),
    "scalbn": np.ldexp,
    "signbitd": np.signbit,
    "sinpi": lambda x: _of_half_turns(x, 0),
    "tgamma": np.vectorize(_gamma, otypes=[np.float64]),
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
"""By their names without `__nv_`."""


def libdevice(stack: contextlib.ExitStack) -> None:
    """Lets kernels call these functions, within `stack`."""

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

    def patch(owner: object, name: str, made: object) -> None:
        stack.enter_context(mock.patch.object(owner, name, made))

    patch(interpreter.InterpreterBuilder, "create_extern_elementwise", extern)
    for name, member in list(vars(cuda).items()):
        if core.is_builtin(member):
            patch(cuda, name, _with_semantic(member))
            # The general module holds names only; compilers put the target's in their place.
            if hasattr(anywhere, name):
                patch(anywhere, name, _with_semantic(member))


def _with_semantic(member: Callable[..., Any]) -> Callable[..., Any]:
    def called(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop("_semantic", None)
        return member(*args, **kwargs, _semantic=interpreter.interpreter_semantic)

    return called
