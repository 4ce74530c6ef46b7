"""A driver for Triton that records launches instead of making them.

Triton's own code specialises, compiles and binds arguments; only what would call into CUDA is
replaced: loading a cubin, launching it and encoding TMA descriptors.
"""
# ruff: noqa: D102 - the names are Triton's, whose own driver says what they mean.

from __future__ import annotations

import inspect
import struct
from collections.abc import Iterator
from typing import Any

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.backends.driver import DriverBase
from triton.runtime import _allocation

from ouroboros.trace.cubin import kernel_info
from ouroboros.trace.devices import Device
from ouroboros.trace.kernel_sources import describe_arguments, describe_kernel
from ouroboros.trace.recorder import Kernel, LoadedKernel, MapDescription, Place, Recorder
from ouroboros.trace.refusal import RefusalError

__all__ = ["RecordingDriver", "check_version"]

KNOWN_VERSIONS = ("3.6", "3.7", "3.8", "3.9")
MAP_BYTES = 128
MAX_THREADS = 1024

# A flat argument: how it is encoded, and its value.
Argument = tuple[str, Any]


def check_version() -> None:
    """Refuses versions of Triton whose launcher this module does not mirror."""
    if ".".join(triton.__version__.split(".")[:2]) not in KNOWN_VERSIONS:
        raise RefusalError.unsupported(
            f"Triton {triton.__version__}",
            f"the dry trace knows {', '.join(KNOWN_VERSIONS)}; install one of these or trace live",
        )


def flatten(signature: Any, values: Any, descriptors: Iterator[Any]) -> Iterator[Argument]:
    """Yields the arguments that a kernel gets: tuples opened, compile-time constants left out."""
    for kind, value in zip(signature, values, strict=True):
        if isinstance(kind, tuple):
            yield from flatten(kind, value, descriptors)
        elif kind.startswith("tensordesc"):
            yield from _expand(value, next(descriptors, None))
        elif kind != "constexpr":
            yield kind, value


def _expand(descriptor: Any, layout: Any) -> Iterator[Argument]:
    """Yields what stands for a tensor descriptor: a TMA map or a pointer, then its geometry."""
    from triton.backends.nvidia.driver import make_tensordesc_arg

    # Triton 3.8 added an argument that does not matter for NVIDIA's devices.
    count = len(inspect.signature(make_tensordesc_arg).parameters)
    for value in make_tensordesc_arg(*(descriptor, layout, None)[:count]):
        if isinstance(value, MapDescription):
            yield "nvTmaDesc", value
        elif hasattr(value, "data_ptr"):
            yield "*", value
        else:
            yield "int", value


def descriptor_fields(signature: Any, values: Any, descriptors: Iterator[Any]) -> Iterator[int]:
    """Yields how many arguments stand for each tensor descriptor."""
    for kind, value in zip(signature, values, strict=True):
        if isinstance(kind, tuple):
            yield from descriptor_fields(kind, value, descriptors)
        elif kind.startswith("tensordesc"):
            yield len(list(_expand(value, next(descriptors, None))))


def encode(kind: str, value: Any, size: int) -> bytes:
    """Returns a number as the kernel reads it, in `size` bytes."""
    if kind in ("fp32", "f32"):
        raw = struct.pack("<f", value)
    elif kind == "fp64":
        raw = struct.pack("<d", value)
    elif kind == "fp16":
        raw = struct.pack("<e", value)
    elif kind == "bf16":
        raw = struct.pack("<f", value)[2:]  # Truncated, as Triton's launcher does.
    else:
        raw = (int(value) & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    if len(raw) != size:
        raise RefusalError.unsupported(
            f"argument of type {kind}", f"the kernel declares {size} bytes for it"
        )
    return raw


class _Block:
    """The parameter block of one launch."""

    def __init__(self, recorder: Recorder, fields: tuple[tuple[int, int], ...]) -> None:
        self._recorder = recorder
        self.bytes = bytearray(fields[-1][0] + fields[-1][1] if fields else 0)
        self.pointers: list[tuple[int, Place]] = []
        self.tensor_maps: list[tuple[int, Place, MapDescription]] = []

    def put(self, kind: str, value: Any, at: int, size: int) -> None:
        if kind == "nvTmaDesc":
            if not isinstance(value, MapDescription) or size != MAP_BYTES:
                raise RefusalError.unsupported(
                    "TMA descriptor", "only tensor descriptors that Triton makes are known"
                )
            self.tensor_maps.append((at, self._recorder.place(value.address), value))
        elif kind.startswith("*"):
            self._put_pointer(value, at)
        elif kind in ("i64", "u64") and self._recorder.arena.find(int(value)):
            # An address that host code passes as a number.
            self._put_pointer(int(value), at)
        else:
            self.bytes[at : at + size] = encode(kind, value, size)

    def _put_pointer(self, value: Any, at: int) -> None:
        if isinstance(value, torch.Tensor) and value.device.type != "cuda":
            raise ValueError("Pointer argument cannot be accessed from Triton (cpu tensor?)")
        address = value if isinstance(value, int) else value.data_ptr() if value is not None else 0
        if address:
            self.pointers.append((at, self._recorder.place(address)))


class _Utils:
    """What Triton expects of the compiled half of its driver."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._kernels: list[LoadedKernel] = []

    def load_binary(
        self, name: str, cubin: bytes, shared: int, device: int
    ) -> tuple[int, int, int, int, int]:
        info = kernel_info(cubin, name)
        self._kernels.append(LoadedKernel(name, cubin, info))
        handle = len(self._kernels)
        return handle, handle, info.registers, info.stack_bytes // 4, MAX_THREADS

    def unload_module(self, handle: int) -> None:
        """A module stays: a plan may hold it."""

    def kernel(self, handle: int) -> LoadedKernel:
        return self._kernels[handle - 1]

    def get_device_properties(self, _: int) -> dict[str, int]:
        device = self._device
        return {
            "max_shared_mem": device.shared_optin_bytes,
            "max_num_regs": device.registers_sm,
            "multiprocessor_count": device.multiprocessors,
            "warpSize": device.warp_size,
            "sm_clock_rate": device.clock_khz,
            "mem_clock_rate": device.memory_clock_khz,
            "mem_bus_width": device.bus_bits,
        }

    def fill_tma_descriptor_tiled(
        self,
        address: int,
        swizzle: int,
        element_bytes: int,
        element_type: int,
        box: Any,
        shape: Any,
        strides: Any,
        padding: int,
    ) -> MapDescription:
        return MapDescription(
            address=address,
            data_type=element_type,
            sizes=tuple(int(size) for size in reversed(shape)),
            strides_bytes=tuple(int(stride) * element_bytes for stride in reversed(strides[:-1])),
            box=tuple(int(size) for size in reversed(box)),
            swizzle=swizzle,
            oob_fill=padding,
        )

    fill_tma_descriptor = fill_tma_descriptor_tiled  # Its name in Triton 3.6.

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise RefusalError.unsupported(f"triton driver {name}", "a dry trace has no device to ask")


class _Launcher:
    """Stands where Triton has a C function for one kernel's signature."""

    def __init__(self, driver: RecordingDriver, source: Any, metadata: Any) -> None:
        self._driver = driver
        self._signature = tuple(source.signature.values())
        self._names = tuple(source.signature)
        # Now, when it is compiled: it may be another text when it is launched.
        self._source = describe_kernel(source, metadata)
        self._metadata = metadata
        if metadata.launch_pdl:
            raise RefusalError.unsupported(
                "launch_pdl", "programmatic dependent launch is not in a launch plan"
            )
        if metadata.profile_scratch_size or getattr(metadata, "instrumentation_mode", ""):
            raise RefusalError.unsupported("instrumentation", "profilers need a device")

    def __call__(
        self,
        grid_x: int,
        grid_y: int,
        grid_z: int,
        stream: int,
        function: int,
        packed: tuple[int, int, int],
        launch_metadata: Any,
        enter_hook: Any,
        exit_hook: Any,
        *values: Any,
    ) -> None:
        if stream:
            raise RefusalError.unsupported("stream", "a launch plan has one stream")
        for name, hook in (("launch_enter_hook", enter_hook), ("launch_exit_hook", exit_hook)):
            if getattr(hook, "calls", hook):
                raise RefusalError.unsupported(name, "hooks of a launch are not in a launch plan")
        blocks = grid_x * grid_y * grid_z
        if blocks <= 0:
            return  # As Triton's launcher.
        num_warps, num_ctas, shared_bytes = packed
        recorder = self._driver.recorder
        kernel = self._driver.utils.kernel(function)
        layouts = list(getattr(self._metadata, "tensordesc_meta", None) or ())
        arguments = list(flatten(self._signature, values, iter(layouts)))
        arguments += self._scratch(blocks * num_ctas, len(kernel.info.fields) - len(arguments))
        block = _Block(recorder, kernel.info.fields)
        for (kind, value), (at, size) in zip(arguments, kernel.info.fields, strict=True):
            block.put(kind, value, at, size)
        recorder.kernel(
            Kernel(
                kernel=kernel,
                grid=(int(grid_x) * num_ctas, int(grid_y), int(grid_z)),
                block=(self._driver.device.warp_size * num_warps, 1, 1),
                cluster=(num_ctas, 1, 1),
                shared_bytes=shared_bytes,
                cooperative=bool(self._metadata.launch_cooperative_grid),
                num_stages=getattr(self._metadata, "num_stages", 0),
                parameters=bytes(block.bytes),
                pointers=tuple(block.pointers),
                tensor_maps=tuple(block.tensor_maps),
                source={
                    **self._source,
                    "arguments": describe_arguments(
                        self._names,
                        self._signature,
                        values,
                        descriptor_fields(self._signature, values, iter(layouts)),
                    ),
                },
            )
        )

    def _scratch(self, programs: int, declared: int) -> list[Argument]:
        """Returns the scratch pointers that the kernel declares after its arguments."""
        if not 0 <= declared <= 2:
            raise RefusalError.unsupported(
                "parameters", "the kernel declares other parameters than its signature has"
            )
        memory = None
        if self._metadata.global_scratch_size:
            memory = _allocation._allocator.get()(
                programs * self._metadata.global_scratch_size,
                self._metadata.global_scratch_align,
                0,
            )
        # The second, for profilers, is never used here.
        return [("*i8", memory), ("*i8", None)][:declared]


class RecordingDriver(DriverBase):  # type: ignore[misc]
    """What Triton launches through, in place of CUDA.

    Attributes:
        device: Who answers Triton's questions.
        recorder: Who is told of launches.
    """

    def __init__(self, device: Device, recorder: Recorder) -> None:
        self.device = device
        self.recorder = recorder
        self.utils = _Utils(device)

    def launcher_cls(self, source: Any, metadata: Any) -> _Launcher:
        return _Launcher(self, source, metadata)

    @classmethod
    def is_active(cls) -> bool:
        return True

    def map_python_to_cpp_type(self, ty: str) -> str:
        return ty

    def get_current_target(self) -> GPUTarget:
        major, minor = self.device.capability
        return GPUTarget("cuda", 10 * major + minor, self.device.warp_size)

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cuda", 0)

    def get_device_interface(self) -> Any:
        return torch.cuda

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, _: int) -> None:
        """There is one."""

    def get_current_stream(self, _: int | None = None) -> int:
        return 0

    def get_device_capability(self, _: int | None = None) -> tuple[int, int]:
        return self.device.capability

    def get_benchmarker(self) -> Any:
        raise RefusalError.unsupported("triton.testing", "a dry trace has no clock")

    def get_empty_cache_for_benchmark(self) -> Any:
        return self.get_benchmarker()
