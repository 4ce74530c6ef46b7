"""What example tensors say about inputs."""

from __future__ import annotations

import torch

from ouroboros._ouroboros import Axis, Input, UnsupportedError

__all__ = ["DTYPES", "dtype_name", "example_input"]

DTYPES = {
    torch.float16: "float16",
    torch.bfloat16: "bfloat16",
    torch.float32: "float32",
    torch.float64: "float64",
    torch.int32: "int32",
    torch.int64: "int64",
    torch.int8: "int8",
    torch.uint8: "uint8",
    torch.bool: "bool",
    torch.float8_e4m3fn: "float8_e4m3fn",
    torch.float8_e5m2: "float8_e5m2",
}
"""Element types that the referee can judge."""

_INDICES = (torch.int32, torch.int64)
"""What indices may be; examples of these that are never negative are taken for indices."""


def dtype_name(dtype: torch.dtype, what: str) -> str:
    """Returns the name of a dtype.

    Raises:
        UnsupportedError: The referee cannot judge it; the message names it and `what` has it.
    """
    if dtype not in DTYPES:
        raise UnsupportedError(
            f"{what} has the dtype {str(dtype).removeprefix('torch.')}, which the referee cannot "
            f"judge; use {', '.join(DTYPES.values())}"
        )
    return DTYPES[dtype]


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
        return Input(name, shape, dtype=own, parameter=parameter), None
    least, largest = (int(example.min()), int(example.max())) if example.numel() else (0, 0)
    if least < 0 or example.dtype not in _INDICES:
        return Input(name, shape, dtype=dtype), None
    axis = Axis(f"{name}_values", fixed=largest + 1)
    return Input(name, shape, dtype=dtype, values="index", index_axis=axis.name), axis
