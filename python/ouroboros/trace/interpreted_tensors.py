"""Host code on CPU tensors that claim to lie on a GPU.

Storage belongs either to the host or to the pretended device. Device memory may be allocated,
filled, copied and looked at through views, as in a launch plan. Everything else that would need its
values is refused with the name of the operator.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any, NoReturn
from unittest import mock

import numpy as np
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

__all__ = ["Host", "Refused"]

_DEVICE = torch.device("cuda", 0)

_EMPTY = {"aten::empty", "aten::empty_strided", "aten::empty_like", "aten::new_empty"}
_EMPTY |= {"aten::new_empty_strided"}
_FILLED = {f"aten::{new}{what}" for what in ("zeros", "ones", "full") for new in ("", "new_")}
_FILLED |= {"aten::zeros_like", "aten::ones_like", "aten::full_like"}
_IN_PLACE = {"aten::zero_", "aten::fill_", "aten::copy_"}
_COPIES = {"aten::clone", "aten::detach", "aten::alias", "aten::_unsafe_view", "aten::lift_fresh"}
_PLANNED = _EMPTY | _FILLED | _IN_PLACE | _COPIES
"""Operators on device memory that a launch plan can hold; views are allowed as well."""

_READERS = {
    "numpy": "aten::_to_copy",
    "__array__": "aten::_to_copy",
    "tolist": "aten::_to_copy",
    "cpu": "aten::_to_copy",
    "__dlpack__": "torch.Tensor.__dlpack__",
}
"""Methods of tensors that hand values to the host without an operator."""

_POISON = 0xFF  # NaN in every floating type, -1 in every integer.


class Refused(BaseException):
    """The candidate did what cannot be interpreted, or what no launch plan could hold.

    Not an `Exception`: candidates swallow those, and go on to something else.
    """

    def __init__(self, kind: str, op: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.op = op


class Host:
    """Accounts for the pretended device's memory, and for what host code wants of it."""

    def __init__(self) -> None:
        self.refusal: Refused | None = None
        self.host_ops: list[str] = []
        self._storages: dict[int, tuple[torch.UntypedStorage, bool]] = {}
        self._ranges: tuple[Any, Any, Any] | None = None
        self._paused = 0
        self._claims = 0

    def own(self, tensor: torch.Tensor, writable: bool = True) -> torch.Tensor:
        """Puts a tensor's storage on the pretended device, unless it is there already."""
        storage = tensor.untyped_storage()
        if storage._cdata not in self._storages:
            self._storages[storage._cdata] = (storage, writable)
            self._ranges = None
        return tensor

    def owns(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor lies on the pretended device."""
        return tensor.untyped_storage()._cdata in self._storages

    def is_input(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor shares memory with an input."""
        return not self._storages.get(tensor.untyped_storage()._cdata, (None, True))[1]

    def refuse(self, kind: str, op: str, message: str) -> NoReturn:
        """Raises `Refused`, and remembers it: a bare `except` swallows even that."""
        refused = Refused(kind, op, message)
        if self.refusal is None:
            self.refusal = refused
        raise refused

    def ranges(self) -> tuple[Any, Any, Any]:
        """See `interpreted_kernels.Memory`."""
        if self._ranges is None:
            rows = sorted(
                (storage.data_ptr(), storage.data_ptr() + storage.nbytes(), writable)
                for storage, writable in self._storages.values()
                if storage.nbytes()
            ) or [(0, 0, False)]
            starts, ends, writable = zip(*rows, strict=True)
            self._ranges = (np.array(starts), np.array(ends), np.array(writable))
        return self._ranges

    @contextlib.contextmanager
    def launching(self) -> Iterator[None]:
        """See `interpreted_kernels.Memory`."""
        self._paused += 1
        try:
            yield
        finally:
            self._paused -= 1

    @contextlib.contextmanager
    def pretending(self) -> Iterator[None]:
        """Inside, `device="cuda"` means the pretended device."""
        with contextlib.ExitStack() as stack:
            for name, value in _CUDA.items():
                stack.enter_context(mock.patch.object(torch.cuda, name, value))
            for name in ("Stream", "Event", "CUDAGraph", "graph", "make_graphed_callables"):
                if hasattr(torch.cuda, name):
                    stack.enter_context(mock.patch.object(torch.cuda, name, self._needs(name)))
            stack.enter_context(_Operators(self))
            stack.enter_context(_Functions(self))
            yield

    def _needs(self, name: str) -> Any:
        def refuse(*_: object, **__: object) -> NoReturn:
            self.refuse("needs_device", f"torch.cuda.{name}", f"torch.cuda.{name} needs a GPU")

        return refuse

    def _function(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._paused or function is torch.device:
            return function(*args, **kwargs)
        first = args[0] if args and isinstance(args[0], torch.Tensor) else None
        if first is not None and self.owns(first):
            if function in _PROPERTIES:
                return _PROPERTIES[function]
            name = getattr(function, "__name__", "")
            to_host = function is torch.Tensor.to and any(map(_is_host, (*args, *kwargs.values())))
            if name in _READERS or to_host:
                self._data_operator(_READERS.get(name, "aten::_to_copy"))
        claims = function is torch.Tensor.cuda or any(map(_is_device, (*args, *kwargs.values())))
        if not claims:
            return function(*args, **kwargs)
        if function is torch.Tensor.cuda:
            function, args, kwargs = torch.Tensor.to, (args[0], "cpu"), {}
        args = tuple("cpu" if _is_device(value) else value for value in args)
        kwargs = {key: "cpu" if _is_device(value) else value for key, value in kwargs.items()}
        self._claims += 1
        try:
            made = function(*args, **kwargs)
        finally:
            self._claims -= 1
        if made is first and first is not None and not self.owns(first):
            made = first.clone()
        for leaf in tree_leaves(made):
            if isinstance(leaf, torch.Tensor):
                self.own(leaf)
        return made

    def _operator(self, operator: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if self._paused:
            return operator(*args, **kwargs)
        name = operator._schema.name
        leaves = tree_leaves((args, dict(kwargs)))
        owned = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and self.owns(leaf)]
        if owned:
            if name not in _PLANNED and not operator.is_view:
                self._data_operator(operator.name())
            for argument, value in zip(operator._schema.arguments, args, strict=False):
                written = argument.alias_info is not None and argument.alias_info.is_write
                if written and isinstance(value, torch.Tensor) and self.is_input(value):
                    self.refuse("input_written", operator.name(), f"{name} writes to an input")
        made = operator(*args, **kwargs)
        tensors = [leaf for leaf in tree_leaves(made) if isinstance(leaf, torch.Tensor)]
        if name in _EMPTY:
            for tensor in tensors:
                _poison(tensor)
        if owned or self._claims:
            for tensor in tensors:
                self.own(tensor)
        return made

    def _data_operator(self, name: str) -> NoReturn:
        self.host_ops.append(name)
        self.refuse(
            "needs_device",
            name,
            f"{name} on device memory is not a launch of the candidate's: only allocations, "
            "fills, copies, views and kernels are interpreted",
        )


class _Functions(TorchFunctionMode):
    """Sees calls as they were written: devices are still `cuda` here."""

    def __init__(self, host: Host) -> None:
        super().__init__()
        self._host = host

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return self._host._function(func, args, dict(kwargs or {}))


class _Operators(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Sees what calls come down to."""

    def __init__(self, host: Host) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._host = host

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        return self._host._operator(func, args, dict(kwargs or {}))


_TENSOR: Any = torch.Tensor
_PROPERTIES: dict[Any, Any] = {
    _TENSOR.device.__get__: _DEVICE,
    _TENSOR.is_cuda.__get__: True,
    _TENSOR.is_cpu.__get__: False,
    _TENSOR.get_device: 0,
}


def _is_device(value: object) -> bool:
    if isinstance(value, torch.device):
        return value.type == "cuda"
    return isinstance(value, str) and value.split(":")[0] == "cuda"


def _is_host(value: object) -> bool:
    if isinstance(value, torch.device):
        return value.type == "cpu"
    return isinstance(value, str) and value.split(":")[0] == "cpu"


def _poison(tensor: torch.Tensor) -> None:
    storage = tensor.untyped_storage()
    if storage.nbytes():
        torch.empty(0, dtype=torch.uint8).set_(storage).fill_(_POISON)


_PROPERTIES_OF_DEVICE = SimpleNamespace(
    name="interpreter",
    major=9,
    minor=0,
    multi_processor_count=4,
    warp_size=32,
    total_memory=1 << 34,
    L2_cache_size=50 << 20,
    shared_memory_per_block=48 << 10,
    shared_memory_per_block_optin=227 << 10,
    shared_memory_per_multiprocessor=228 << 10,
    regs_per_multiprocessor=65536,
    max_threads_per_multi_processor=2048,
)
"""Few multiprocessors, so that persistent kernels loop on small inputs as well."""

_CUDA: dict[str, Any] = {
    "_lazy_init": lambda: None,
    "is_available": lambda: True,
    "is_initialized": lambda: True,
    "current_device": lambda: 0,
    "device_count": lambda: 1,
    "set_device": lambda *_: None,
    "synchronize": lambda *_: None,
    "get_device_properties": lambda *_: _PROPERTIES_OF_DEVICE,
    "get_device_capability": lambda *_: (9, 0),
    "get_device_name": lambda *_: "interpreter",
    "is_bf16_supported": lambda *_, **__: True,
    "current_stream": lambda *_: SimpleNamespace(cuda_stream=0, device=_DEVICE),
    "device": lambda *_: contextlib.nullcontext(),
}
