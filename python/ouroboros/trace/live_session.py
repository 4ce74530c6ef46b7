"""The process's live tracer: its library, its allocator and stream capture by the driver."""

from __future__ import annotations

import ctypes
import gc
import importlib.util
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from ouroboros.dtypes import DTYPE_NAMES
from ouroboros.trace.live_plan import Block, Capture, Tensor, TraceRefusedError

__all__ = ["Session", "TensorSpec", "UnavailableError", "session"]

TensorSpec = Mapping[str, Any]
"""``{"name", "dtype", "shape", "strides"}``: strides in elements, or left out if contiguous."""

_RELAXED, _THREAD_LOCAL = 2, 1
_OUTSIDE, _FIRST, _SECOND = 0, 1, 2

# Of CUresult: what ends a capture, and the refusal that it becomes.
_CAPTURE_ERRORS = {
    900: ("synchronises", "It waits for the device or reads from it in the middle of the work."),
    901: ("capture_broken", "It did something that a stream capture does not allow."),
    902: ("capture_broken", "It merged its work with another capture."),
    903: ("capture_broken", "It ended the capture itself."),
    904: ("unjoined_stream", "It starts work on another stream and does not wait for it."),
    905: ("foreign_work", "It waits for work from before the call."),
    906: ("legacy_stream", "It uses the default stream, which takes no part in a capture."),
    907: ("synchronises", "It waits on the host for an event of its own work."),
    908: ("capture_broken", "It ended the capture from another thread."),
}


class UnavailableError(Exception):
    """There can be no live trace in this process; one sentence says why."""


def _library_path() -> Path:
    named = os.environ.get("OUROBOROS_LIVE_LIBRARY")
    path = Path(named) if named else Path(__file__).parents[1] / "lib" / "libouroboros-live.so"
    if not path.exists():
        raise UnavailableError(f"There is no {path}: this build has no live trace.")
    return path


def _cupti_path() -> str | None:
    """Returns the wheel's or the toolkit's libcupti; None leaves it to the loader."""
    folders = []
    spec = importlib.util.find_spec("nvidia")
    for root in (spec.submodule_search_locations or ()) if spec else ():
        folders += [Path(root, "cu13", "lib"), Path(root, "cuda_cupti", "lib")]
    for name in ("CUDA_HOME", "CUDA_PATH"):
        if home := os.environ.get(name):
            folders.append(Path(home, "extras", "CUPTI", "lib64"))
    folders.append(Path("/usr/local/cuda/extras/CUPTI/lib64"))
    for folder in folders:
        for found in sorted(folder.glob("libcupti.so.1[0-9]")):
            return str(found)
    return None


class Session:
    """Traces functions in this process, whose PyTorch allocator it takes over for good."""

    def __init__(self, device: int = 0) -> None:
        if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            raise UnavailableError(
                "PyTorch has started CUDA in this process; a live trace needs a fresh one."
            )
        path = _library_path()
        self._library = ctypes.CDLL(str(path))
        for name in ("watch", "arena_open", "arena_use", "arena_trim", "export"):
            getattr(self._library, f"ouroboros_live_{name}").restype = ctypes.c_void_p
        self._library.ouroboros_live_free.argtypes = [ctypes.c_void_p]
        self._library.ouroboros_live_image.restype = ctypes.c_void_p
        self._library.ouroboros_live_arena_blocks.restype = ctypes.c_uint64
        cupti = _cupti_path()
        self._call("watch", cupti.encode() if cupti else None)
        if not torch.cuda.is_available():
            raise UnavailableError("PyTorch finds no CUDA device on this machine.")
        torch.cuda.memory.change_current_allocator(
            torch.cuda.memory.CUDAPluggableAllocator(
                str(path), "ouroboros_live_allocate", "ouroboros_live_release"
            )
        )
        torch.cuda.set_device(device)
        torch.cuda.synchronize()
        properties = torch.cuda.get_device_properties(device)
        self.device = torch.device("cuda", device)
        self.target = f"sm_{properties.major}{properties.minor}"
        self.gpu = str(properties.name)
        self._call("arena_open", ctypes.c_uint64(properties.total_memory), ctypes.c_int(device))
        self._driver = ctypes.CDLL("libcuda.so.1")
        self.stream = torch.cuda.Stream(self.device)  # type: ignore[no-untyped-call]
        self.seen: dict[str, int] = {}
        self._images: dict[int, bytes] = {}

    def _call(self, name: str, *arguments: object) -> None:
        text = getattr(self._library, f"ouroboros_live_{name}")(*arguments)
        if text:
            message = ctypes.string_at(text).decode()
            self._library.ouroboros_live_free(text)
            raise UnavailableError(message)

    @property
    def driver_version(self) -> int:
        """The CUDA version of the driver, e.g. 13000."""
        version = ctypes.c_int()
        self._driver.cuDriverGetVersion(ctypes.byref(version))
        return version.value

    @contextmanager
    def working(self) -> Iterator[None]:
        """Everything in the block runs on the tracer's stream, without gradients."""
        with torch.cuda.device(self.device), torch.cuda.stream(self.stream), torch.no_grad():
            yield

    def tensors(self, specs: Sequence[TensorSpec]) -> list[torch.Tensor]:
        """Returns tensors without values."""
        return [
            torch.empty_strided(
                tuple(one["shape"]),
                strides_of(one),
                dtype=getattr(torch, one["dtype"]),
                device=self.device,
            )
            for one in specs
        ]

    def capture(
        self,
        fn: Callable[..., Any],
        inputs: Sequence[TensorSpec],
        outputs: Sequence[str],
        *,
        again: bool,
    ) -> Capture:
        """Captures one call, in the region of the first or the second capture.

        Raises:
            TraceRefusedError: The call cannot be captured.
        """
        region = _SECOND if again else _FIRST
        with self.working():
            # A workspace from before would be state; a new one is scratch.
            torch._C._cuda_clearCublasWorkspaces()
            self.stream.synchronize()
            self._call("arena_use", region)
            graph = ctypes.c_void_p()
            try:
                tensors = self.tensors(inputs)
                graph, returned = self._captured(fn, tensors)
                launches = self._export(graph)
                results = _results(returned, outputs)
                names = [str(spec["name"]) for spec in inputs]
                return Capture(
                    launches=launches,
                    inputs=[_described(*one) for one in zip(names, tensors, strict=True)],
                    outputs=[_described(*one) for one in zip(outputs, results, strict=True)],
                    own=self._blocks(region),
                    kept=self._blocks(_OUTSIDE),
                )
            finally:
                if graph:
                    self._driver.cuGraphDestroy(graph)
                # Whatever the call keeps in here ends with the region.
                torch._C._cuda_clearCublasWorkspaces()
                self._call("arena_use", _OUTSIDE)

    def _captured(
        self, fn: Callable[..., Any], tensors: Sequence[torch.Tensor]
    ) -> tuple[ctypes.c_void_p, Any]:
        stream = ctypes.c_void_p(self.stream.cuda_stream)
        begun = self._driver.cuStreamBeginCapture_v2(stream, _THREAD_LOCAL)
        if begun != 0:
            raise UnavailableError(f"The driver begins no capture (error {begun}).")
        graph = ctypes.c_void_p()
        try:
            returned = fn(*tensors)
        except BaseException as error:
            self._driver.cuStreamEndCapture(stream, ctypes.byref(graph))
            if graph:
                self._driver.cuGraphDestroy(graph)
            if isinstance(error, Exception):
                raise _refusal(error) from error
            raise
        ended = self._driver.cuStreamEndCapture(stream, ctypes.byref(graph))
        if ended != 0:
            kind, message = _CAPTURE_ERRORS.get(
                ended, ("capture_broken", f"The capture ended with the driver's error {ended}.")
            )
            raise TraceRefusedError(kind, message)
        return graph, returned

    def _export(self, graph: ctypes.c_void_p) -> list[dict[str, Any]]:
        text = ctypes.c_void_p()
        self._call("export", graph, ctypes.byref(text))
        exported = json.loads(ctypes.string_at(text.value or 0))
        self._library.ouroboros_live_free(text)
        for refusal in exported["refusals"]:
            raise TraceRefusedError(refusal["kind"], refusal["message"])
        launches: list[dict[str, Any]] = exported["launches"]
        kernels = [one for one in launches if one["kind"] == "kernel"]
        # For a log: how the code of the last capture's kernels was found, by handle or by name.
        self.seen = {
            **exported["seen"],
            "by_handle": sum(one["paired"] for one in kernels),
            "by_name": sum(not one["paired"] for one in kernels),
        }
        return launches

    def _blocks(self, region: int) -> list[Block]:
        most = 0
        pairs = (ctypes.c_uint64 * 0)()
        while True:
            count = self._library.ouroboros_live_arena_blocks(region, pairs, ctypes.c_uint64(most))
            if count <= most:
                return [Block(pairs[2 * i], pairs[2 * i + 1]) for i in range(count)]
            most = count
            pairs = (ctypes.c_uint64 * (2 * most))()

    def image(self, index: int) -> bytes:
        """Returns a cubin that was loaded; the same object each time, for it may be large."""
        if index in self._images:
            return self._images[index]
        size = ctypes.c_uint64()
        data = self._library.ouroboros_live_image(ctypes.c_uint32(index), ctypes.byref(size))
        self._images[index] = ctypes.string_at(data, size.value)
        return self._images[index]

    def contents(self, address: int, size: int) -> bytes:
        """Returns what device memory holds."""
        data = ctypes.create_string_buffer(max(size, 1))
        result = self._driver.cuMemcpyDtoH_v2(data, ctypes.c_uint64(address), ctypes.c_size_t(size))
        if result != 0:
            raise TraceRefusedError(
                "foreign_memory", f"Memory that the function reads cannot be copied ({result})."
            )
        return data.raw[:size]

    def trim(self) -> None:
        """Gives memory back that no tensor uses."""
        gc.collect()
        torch._C._cuda_clearCublasWorkspaces()
        self._call("arena_trim")


_session: Session | None = None


def session() -> Session:
    """Returns the process's session, made at the first call.

    Raises:
        UnavailableError: There can be none.
    """
    global _session
    if _session is None:
        _session = Session()
    return _session


def strides_of(spec: TensorSpec) -> tuple[int, ...]:
    """Returns a tensor's strides, contiguous ones where the description has none."""
    if spec.get("strides") is not None:
        return tuple(spec["strides"])
    strides = []
    step = 1
    for size in reversed(tuple(spec["shape"])):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def _described(name: str, tensor: torch.Tensor) -> Tensor:
    size = tensor.element_size()
    extent = 0
    if tensor.numel():
        steps = zip(tensor.shape, tensor.stride(), strict=True)
        extent = size * (1 + sum((count - 1) * stride for count, stride in steps))
    return Tensor(
        name=name,
        dtype=str(tensor.dtype).removeprefix("torch."),
        shape=tuple(tensor.shape),
        strides=tuple(tensor.stride()),
        address=tensor.untyped_storage().data_ptr(),
        bytes=extent,
        storage_bytes=tensor.untyped_storage().nbytes(),
        storage_offset=int(tensor.storage_offset()),
    )


def _results(returned: Any, names: Sequence[str]) -> list[torch.Tensor]:
    results = [returned] if isinstance(returned, torch.Tensor) else returned
    if not isinstance(results, (list, tuple)) or len(results) != len(names):
        raise TraceRefusedError(
            "outputs", f"The function must return {len(names)} tensors ({', '.join(names)})."
        )
    for name, one in zip(names, results, strict=True):
        if not isinstance(one, torch.Tensor) or not one.is_cuda or one.layout != torch.strided:
            raise TraceRefusedError("outputs", f"The output '{name}' is no dense CUDA tensor.")
        if one.dtype not in DTYPE_NAMES:
            raise TraceRefusedError("outputs", f"The output '{name}' has the dtype {one.dtype}.")
    return list(results)


def _refusal(error: Exception) -> TraceRefusedError:
    """Names what a capture did not allow."""
    if isinstance(error, TraceRefusedError):
        return error
    text = str(error)
    first = text.partition("\n")[0]
    if "enerator" in text or "Philox" in text or "Offset increment outside graph" in text:
        return TraceRefusedError("random", "It draws random numbers, which a plan cannot hold.")
    if "Cannot copy between CPU and CUDA" in text:
        return TraceRefusedError("host_copy", "It copies between the host's memory and the GPU's.")
    for words, code in (
        ("when stream is capturing", 900),
        ("StreamCaptureUnsupported", 900),
        ("StreamCaptureImplicit", 906),
        ("legacy stream", 906),
        ("StreamCaptureIsolation", 905),
        ("CapturedEvent", 907),
        ("previous error during capture", 901),
    ):
        if words in text:
            kind, message = _CAPTURE_ERRORS[code]
            return TraceRefusedError(kind, message)
    return TraceRefusedError("failed", f"It failed with {type(error).__name__}: {first}")
