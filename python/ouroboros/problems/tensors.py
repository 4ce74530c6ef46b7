"""What example tensors say about inputs."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from ouroboros._ouroboros import Axis, Input, UnsupportedError
from ouroboros.dtypes import DTYPE_NAMES, DTYPES

__all__ = ["dtype_name", "dtype_names", "example_input"]

_INDICES = (torch.int32, torch.int64)
"""What indices may be; examples of these that are never negative are taken for indices, and those
that are never more than one for masks."""


def dtype_name(dtype: torch.dtype, what: str) -> str:
    """Returns the name of a dtype.

    Raises:
        UnsupportedError: The referee cannot judge it; the message names it and `what` has it.
    """
    if dtype not in DTYPE_NAMES:
        raise UnsupportedError(
            f"{what} has the dtype {str(dtype).removeprefix('torch.')}, which the referee cannot "
            f"judge; use {', '.join(DTYPES)}"
        )
    return DTYPE_NAMES[dtype]


def dtype_names(dtypes: Iterable[str | torch.dtype]) -> list[str]:
    """Returns the names of dtypes that are given by name or as PyTorch's.

    Raises:
        UnsupportedError: One of PyTorch's is none that the referee can judge.
    """
    return [
        dtype_name(one, "the problem") if isinstance(one, torch.dtype) else one for one in dtypes
    ]


def example_input(
    name: str, example: torch.Tensor, case_dtype: torch.dtype | None, parameter: bool = False
) -> tuple[Input, Axis | None]:
    """Returns an input with an example's shape, and the axis that bounds its indices.

    Args:
        name: Its name.
        example: A tensor of it.
        case_dtype: The dtype that varies from case to case; any other one stays as it is.
        parameter: Whether it is a weight.

    Raises:
        UnsupportedError: The dtype cannot be judged.
    """
    shape: list[str | int] = list(example.shape)
    dtype = dtype_name(example.dtype, f"the input '{name}'")
    if example.is_floating_point():
        own = None if example.dtype == case_dtype else dtype
        values = "mask" if not parameter and _is_mask(example) else "real"
        return Input(name, shape, dtype=own, values=values, parameter=parameter), None
    least, largest = (int(example.min()), int(example.max())) if example.numel() else (0, 0)
    if example.dtype in _INDICES and example.numel() > 1 and least >= 0 and largest == 1:
        return Input(name, shape, dtype=dtype, values="mask"), None
    if least < 0 or example.dtype not in _INDICES:
        return Input(name, shape, dtype=dtype), None
    axis = Axis(f"{name}_values", fixed=largest + 1)
    return Input(name, shape, dtype=dtype, values="index", index_axis=axis.name), axis


def _is_mask(example: torch.Tensor) -> bool:
    """Whether it has zeros and ones, and nothing else: ones alone may be anything."""
    ones = example == 1
    return bool((ones | (example == 0)).all() and ones.any() and not ones.all())
