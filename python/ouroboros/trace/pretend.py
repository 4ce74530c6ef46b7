"""torch.cuda for a process without CUDA: answers for a device of the table.

Whatever would create something on a device, a stream or an event say, is refused by name.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from ouroboros.trace.devices import KIB, Device
from ouroboros.trace.refusal import RefusalError

__all__ = ["CUDA", "PretendedDevice", "pretend_cuda", "to_cuda"]


class _DefaultStream:
    """The one stream that there is."""

    cuda_stream = 0
    stream_id = 0
    device = torch.device("cuda", 0)
    device_index = 0

    def synchronize(self) -> None:
        """Everything is done already."""

    def query(self) -> bool:
        return True

    def wait_stream(self, other: Any) -> None:
        _only_default(other)


DEFAULT_STREAM = _DefaultStream()


def _only_default(stream: Any) -> Any:
    if stream is not None and stream is not DEFAULT_STREAM:
        raise RefusalError.unsupported("torch.cuda.stream", "a launch plan has one stream")
    return contextlib.nullcontext(stream)


class _DeviceContext:
    """`with torch.cuda.device(...)`: there is one device, and it is current."""

    def __init__(self, *_: Any) -> None:
        self.idx = 0

    def __enter__(self) -> _DeviceContext:
        return self

    def __exit__(self, *_: Any) -> None:
        """Nothing was changed."""


def _refused(name: str) -> type:
    why = "a dry trace has no device; a launch plan has one stream and no events"

    def refuse(*_: Any, **__: Any) -> Any:
        raise RefusalError.unsupported(f"torch.cuda.{name}", why)

    return type(name, (), {"__new__": refuse})


def _properties(device: Device) -> SimpleNamespace:
    return SimpleNamespace(
        name=device.name,
        major=device.capability[0],
        minor=device.capability[1],
        total_memory=device.memory_bytes,
        multi_processor_count=device.multiprocessors,
        warp_size=device.warp_size,
        regs_per_multiprocessor=device.registers_sm,
        max_threads_per_multi_processor=device.threads_sm,
        max_threads_per_block=1024,
        shared_memory_per_block=48 * KIB,
        shared_memory_per_block_optin=device.shared_optin_bytes,
        shared_memory_per_multiprocessor=device.shared_sm_bytes,
        L2_cache_size=device.l2_bytes,
        clock_rate=device.clock_khz,
        memory_clock_rate=device.memory_clock_khz,
        memory_bus_width=device.bus_bits,
        is_integrated=0,
        is_multi_gpu_board=0,
    )


def _always(value: Any) -> Any:
    return lambda *_, **__: value


CUDA = torch.device("cuda", 0)


def _named(device: Any) -> Any:
    return torch.device("cuda", device) if type(device) is int else device


def to_cuda(value: Any) -> Any:
    """Returns the device for `0` and `cuda`, and everything else as it is."""
    number = type(value) is int and value == 0
    named = isinstance(value, (str, torch.device)) and str(value) == "cuda"
    return CUDA if number or named else value


# A new wrapper each time that it is asked for, equal to the others.
_SET_DATA = torch.Tensor.data.__set__  # type: ignore[attr-defined]


def _become(tensor: torch.Tensor, data: torch.Tensor) -> None:
    """Has a tensor be another's data. PyTorch's own way knows nothing of where that lies."""
    made = data.detach()
    if isinstance(tensor, torch.nn.Parameter):
        made = torch.nn.Parameter(made, tensor.requires_grad)
    torch.utils.swap_tensors(tensor, made)  # type: ignore[no-untyped-call]


class PretendedDevice(TorchFunctionMode):
    """What a build of PyTorch without CUDA does not do for host code.

    `0` and `cuda` are `cuda:0`, memory may be pinned, and tensors become others by their `data`, as
    a module's do that is moved to the device.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        named = dict(kwargs or {})
        if "device" in named:
            named["device"] = _named(named["device"])
        # Memory of the host's is as good as pinned: nothing is copied from it while a plan runs.
        named.pop("pin_memory", None)
        if func is torch.Tensor.pin_memory:
            return args[0]
        if func == _SET_DATA and any(one.device.type == "cuda" for one in args):
            return _become(*args)
        if func is torch.Tensor.cuda:
            return args[0].to(CUDA)
        if func is torch.Tensor.to:
            args = [args[0], *map(to_cuda, args[1:])]
            named |= {k: to_cuda(value) for k, value in named.items() if k == "device"}
        return func(*args, **named)


def _on_the_host(make: Any) -> Any:
    """Returns a function that makes tensors from values, and brings them to the device.

    A single one is what a plan can fill memory with.
    """
    if hasattr(make, "on_the_host"):
        return make

    def made(*args: Any, device: Any = None, **options: Any) -> Any:
        device = _named(device)
        if device is not None and torch.device(device).type == "cuda":
            values = args[0] if args else options.get("data")
            if isinstance(values, torch.Tensor) and values.device.type == "cuda":
                return make(*args, device=torch.device("cuda", 0), **options)
            value = make(*args, device="cpu", **options)
            if value.numel() == 1:
                return torch.full(value.shape, value.item(), dtype=value.dtype, device="cuda")
            return value.to(CUDA)
        return make(*args, device=device, **options)

    made.on_the_host = True  # type: ignore[attr-defined]
    return made


def _no_grad(mode: Any = True) -> Any:
    """Stands for torch.inference_mode, which tensors without memory cannot be made in."""
    return torch.no_grad()(mode) if callable(mode) else torch.no_grad()


def pretend_cuda(device: Device) -> None:
    """Makes torch.cuda answer as `device` would, for the rest of this process's life."""
    answers = {
        "is_available": True,
        "is_initialized": True,
        "device_count": 1,
        "current_device": 0,
        "get_device_properties": _properties(device),
        "get_device_capability": device.capability,
        "get_device_name": device.name,
        "get_arch_list": [f"sm_{device.capability[0]}{device.capability[1]}"],
        "is_bf16_supported": True,
        "mem_get_info": (device.memory_bytes, device.memory_bytes),
        "current_stream": DEFAULT_STREAM,
        "default_stream": DEFAULT_STREAM,
        "is_current_stream_capturing": False,
        "_exchange_device": 0,
        "_maybe_exchange_device": 0,
        # Nothing to do.
        "init": None,
        "_lazy_init": None,
        "set_device": None,
        "synchronize": None,
        "empty_cache": None,
        "ipc_collect": None,
        "manual_seed": None,
        "manual_seed_all": None,
        "seed": None,
        "seed_all": None,
        "reset_peak_memory_stats": None,
        "memory_allocated": 0,
        "memory_reserved": 0,
        "max_memory_allocated": 0,
        "max_memory_reserved": 0,
    }
    cuda: Any = torch.cuda
    for name, value in answers.items():
        setattr(cuda, name, _always(value))
    cuda._initialized = True
    # PyTorch's C++ code asks the guard for the current device; this one answers without CUDA.
    torch._C._ensureCUDADeviceGuardSet()
    cuda.device = _DeviceContext
    cuda.device_of = _DeviceContext
    cuda.stream = _only_default
    cuda.set_stream = _only_default
    for name in ("Stream", "ExternalStream", "Event", "CUDAGraph", "graph"):
        setattr(cuda, name, _refused(name))
    for name in ("range_push", "range_pop", "range_start", "range_end", "mark"):
        setattr(cuda.nvtx, name, _always(0))
    for name in ("tensor", "as_tensor"):
        setattr(torch, name, _on_the_host(getattr(torch, name)))
    torch.inference_mode = _no_grad  # type: ignore[assignment, misc]
    torch._C._cuda_getCurrentRawStream = _always(0)
    if torch.version.cuda is None:
        torch.version.cuda = "13.0"  # Host code asks whether this is a build with CUDA.
