"""References that look at their tensors' dtypes, while the library runs them in another one.

An oracle is the reference in float64, and code that asserts a dtype, or looks one up in a table,
has no entry for it. Here such code sees what its tensors would be: what inputs are declared as, and
what PyTorch's promotion makes of them, while operators compute in float64 as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import reduce
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from .dtypes import DTYPES

__all__ = ["call"]

MARK = "_ouroboros_declared"
GET_DTYPE = torch.Tensor.dtype.__get__  # type: ignore[attr-defined]
CASTS = {
    "float": torch.float32,
    "double": torch.float64,
    "half": torch.float16,
    "bfloat16": torch.bfloat16,
}


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """Yields the tensors in arguments or results, however deep."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for one in value:
            yield from tensors_in(one)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))


def declared_of(tensor: torch.Tensor) -> torch.dtype:
    """Returns what a tensor would be; what it is where nothing else is known."""
    return getattr(tensor, MARK, tensor.dtype)


def promoted(tensors: Iterable[torch.Tensor]) -> torch.dtype:
    """Returns the dtype of an operator's real results: scalars give way to what has dimensions."""
    given = [one for one in tensors if one.dtype.is_floating_point]
    dtypes = [declared_of(one) for one in [one for one in given if one.dim() > 0] or given]
    return reduce(torch.promote_types, dtypes) if dtypes else torch.get_default_dtype()


def asked_for(name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> torch.dtype | None:
    """Returns the dtype that a call names, if it does."""
    if name in CASTS:
        return CASTS[name]
    if name in ("to", "type_as"):
        for one in args[1:]:
            if isinstance(one, torch.Tensor):
                return declared_of(one)
    for one in (*args, *kwargs.values()):
        if isinstance(one, torch.dtype):
            return one
    return None


class AsDeclared(TorchFunctionMode):
    """Shows tensors' declared dtypes in the place of what they are."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func == GET_DTYPE:
            return declared_of(args[0])
        result = func(*args, **kwargs)
        dtype = asked_for(getattr(func, "__name__", ""), args, kwargs)
        if dtype and isinstance(result, torch.Tensor) and any(result is one for one in args):
            result = result.view_as(result)  # A cast to what it is already: it looks otherwise now.
        for one in tensors_in(result):
            if one.dtype.is_floating_point and not hasattr(one, MARK):
                setattr(one, MARK, dtype or promoted(tensors_in((args, kwargs))))
        return result


def call(
    reference: Callable[..., Any], inputs: Sequence[torch.Tensor], dtypes: Sequence[str]
) -> Any:
    """Calls a reference, whose tensors look as if they had other dtypes.

    Args:
        reference: What is called with the inputs.
        inputs: In float64, say.
        dtypes: The name of what each input is declared as.
    """
    for one, dtype in zip(inputs, dtypes, strict=True):
        setattr(one, MARK, DTYPES[dtype])
    with AsDeclared():
        return reference(*inputs)
