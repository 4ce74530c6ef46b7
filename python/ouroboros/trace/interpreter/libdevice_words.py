"""Functions of libdevice on words of bits, and between words and numbers, by way of NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["WORDS"]


def _unsigned(x: Any) -> Any:
    return x.view(f"u{x.itemsize}")


def _first_set(x: Any) -> Any:
    """Returns the number of the lowest bit that is set, from 1, and 0 where there is none."""
    bits = _unsigned(x)
    return np.where(bits == 0, 0, np.bitwise_count(bits ^ (bits - bits.dtype.type(1))))


def _set(x: Any) -> Any:
    """Returns how many bits are set."""
    return np.bitwise_count(_unsigned(x))


def _leading_zeros(x: Any) -> Any:
    bits, width = _unsigned(x), 8 * x.itemsize
    apart = 1
    while apart < width:
        bits = bits | (bits >> bits.dtype.type(apart))
        apart *= 2
    return width - np.bitwise_count(bits).astype(np.int32)


def _reversed(x: Any) -> Any:
    each = np.ascontiguousarray(x)[..., None].view(np.uint8)
    bits = np.unpackbits(each, axis=-1, bitorder="little")[..., ::-1]
    return np.packbits(bits, axis=-1, bitorder="little").view(x.dtype)[..., 0]


def _high_half(x: Any, y: Any) -> Any:
    return x.astype(object) * y.astype(object) >> 8 * x.itemsize


def _as(kind: str) -> Callable[[Any], Any]:
    return lambda x: x.view(kind)


def _to_whole(rounded: Callable[[Any], Any], kind: str) -> Callable[[Any], Any]:
    """Returns a conversion of float32: what is too large is cut off, what is no number is 0."""
    limits = np.iinfo(kind)

    def convert(x: Any) -> Any:
        whole = rounded(x.astype(np.float64))
        return np.nan_to_num(np.clip(whole, limits.min, limits.max)).astype(kind)

    return convert


_WAYS = {"rn": np.rint, "rz": np.trunc, "ru": np.ceil, "rd": np.floor}

WORDS: dict[str, Callable[..., Any]] = {
    "brev": _reversed,
    "brevll": _reversed,
    "clz": _leading_zeros,
    "clzll": _leading_zeros,
    "double_as_longlong": _as("int64"),
    "ffs": _first_set,
    "ffsll": _first_set,
    "float_as_int": _as("int32"),
    "float_as_uint": _as("uint32"),
    "int_as_float": _as("float32"),
    "longlong_as_double": _as("float64"),
    "mul64hi": _high_half,
    "mulhi": _high_half,
    "popc": _set,
    "popcll": _set,
    "sad": lambda x, y, z: np.abs(x.astype(np.int64) - y) + z,
    "uint_as_float": _as("float32"),
    "umul64hi": _high_half,
    "umulhi": _high_half,
    "usad": lambda x, y, z: np.abs(x.astype(np.int64) - y) + z,
    **{
        f"float2{name}_{way}": _to_whole(rounded, kind)
        for name, kind in {"int": "int32", "uint": "uint32"}.items()
        for way, rounded in _WAYS.items()
    },
    # Whoever takes the result rounds it to its own type, to nearest.
    **{
        f"{source}2{target}_rn": np.asarray
        for source in ("int", "uint", "ll", "ull")
        for target in ("float", "double")
    },
}
"""By their names without `__nv_`."""
