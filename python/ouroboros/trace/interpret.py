"""Runs a Triton candidate in Triton's interpreter: right or wrong, never how fast.

This is for machines without a GPU. The process that calls `run` executes the candidate's host code
and must be a sandboxed one that is thrown away. Nothing here is a proof: host code could forge its
outputs, and a launch plan is never made. So a verdict from it is not sealed and not timed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from ouroboros.trace.interpreted_kernels import interpreted
from ouroboros.trace.interpreted_tensors import Host, Refused

__all__ = ["run"]

_LOG_BYTES = 16 << 10


def run(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Interprets a candidate on every signature of a request.

    Args:
        request: ``source`` and ``name`` of the candidate, the ``entry`` to call ("run" unless it is
            given), ``signatures`` with their ``inputs`` (objects with ``name``, ``dtype``,
            ``shape``, ``strides``) and the names of their ``outputs``. ``inputs`` has, for each
            signature, a list of bytes, or the path of a file that holds them one after another.
            ``scratch`` is a folder that may be written to.

    Returns:
        For each signature: ``outputs`` (objects with ``dtype``, ``shape``, ``strides`` and
        ``bytes``, which are those of the contiguous tensor), ``refusal`` (nothing, or an object
        with ``kind``, ``op``, ``message`` and ``traceback``), ``host_ops`` (operators that the host
        code wanted of device memory), ``log`` and ``seconds``. Kinds are ``load_error``,
        ``exception``, ``needs_device``, ``unsupported``, ``out_of_bounds``, ``input_written``,
        ``bad_output`` and ``output_alias``.
    """
    with contextlib.ExitStack() as stack:
        folder = request.get("scratch") or stack.enter_context(tempfile.TemporaryDirectory())
        host = Host()
        stack.enter_context(interpreted(host))
        log = io.StringIO()
        refusal = None
        entry: Callable[..., Any] | None = None
        try:
            with _observed(host, log):
                module = _load(request["source"], request["name"], Path(folder))
                entry = _entry(module, request.get("entry", "run"))
        except (Exception, Refused) as error:
            refusal = _refusal(error, host, "load_error")
        results = []
        for signature, inputs in zip(request["signatures"], request["inputs"], strict=True):
            if entry is None:
                results.append(_result([], refusal, host, log, 0.0))
            else:
                results.append(_interpret(entry, host, signature, inputs, log))
        return results


def _interpret(
    entry: Callable[..., Any],
    host: Host,
    signature: Mapping[str, Any],
    data: Sequence[bytes] | str,
    log: io.StringIO,
) -> dict[str, Any]:
    inputs = _inputs(signature["inputs"], data)
    for tensor in inputs:
        host.own(tensor, writable=False)
    host.refusal = None
    host.host_ops = []
    outputs: list[dict[str, Any]] = []
    refusal = None
    started = time.perf_counter()
    try:
        with _observed(host, log):
            returned = entry(*inputs)
        if host.refusal is not None:
            raise host.refusal
        outputs = _outputs(returned, signature["outputs"], host)
    except (Exception, Refused) as error:
        refusal = _refusal(error, host, "exception")
    return _result(outputs, refusal, host, log, time.perf_counter() - started)


@contextlib.contextmanager
def _observed(host: Host, log: io.StringIO) -> Any:
    with contextlib.redirect_stdout(log), contextlib.redirect_stderr(log), host.pretending():
        yield


def _load(source: str, name: str, folder: Path) -> ModuleType:
    # The interpreter rewrites kernels and wants to read their source from a file.
    path = folder / "interpreted_candidate.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("interpreted_candidate", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"'{name}' cannot be loaded as a Python module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _entry(module: ModuleType, name: str) -> Callable[..., Any]:
    entry = getattr(module, name, None)
    if not callable(entry):
        raise AttributeError(f"the module has no function '{name}': define {name}(*inputs)")
    function: Callable[..., Any] = entry
    return function


def _inputs(declared: Sequence[Mapping[str, Any]], data: Sequence[bytes] | str) -> list[Any]:
    shared = Path(data).read_bytes() if isinstance(data, str) else b""
    inputs = []
    at = 0
    for index, one in enumerate(declared):
        dtype: torch.dtype = getattr(torch, one["dtype"])
        shape, strides = one["shape"], one["strides"]
        elements = 0
        if 0 not in shape:
            elements = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        size = elements * dtype.itemsize
        raw = shared[at : at + size] if isinstance(data, str) else data[index]
        at += size
        if len(raw) != size:
            raise ValueError(f"input '{one['name']}' has {len(raw)} bytes where it needs {size}")
        storage = (
            torch.frombuffer(bytearray(raw), dtype=dtype) if size else torch.empty(0).to(dtype)
        )
        inputs.append(storage.as_strided(shape, strides))
    return inputs


def _outputs(returned: object, names: Sequence[str], host: Host) -> list[dict[str, Any]]:
    values = list(returned) if isinstance(returned, (tuple, list)) else [returned]
    if len(values) != len(names):
        raise Refused("bad_output", "", f"{len(values)} outputs where {len(names)} are wanted")
    seen: dict[int, str] = {}
    outputs = []
    for name, value in zip(names, values, strict=True):
        if type(value) is not torch.Tensor:
            raise Refused("bad_output", "", f"output '{name}' is a {type(value).__name__}")
        if not host.owns(value):
            raise Refused("bad_output", "", f"output '{name}' does not lie on the device")
        if host.is_input(value):
            raise Refused("output_alias", "", f"output '{name}' shares memory with an input")
        storage = value.untyped_storage()._cdata
        if storage in seen:
            raise Refused("output_alias", "", f"'{seen[storage]}' and '{name}' share memory")
        seen[storage] = name
        flat = value.detach().contiguous().reshape(-1)
        outputs.append(
            {
                "dtype": str(value.dtype).removeprefix("torch."),
                "shape": list(value.shape),
                "strides": list(value.stride()),
                "bytes": flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b"",
            }
        )
    return outputs


def _refusal(error: BaseException, host: Host, kind: str) -> dict[str, str]:
    """What went wrong at the root: the interpreter wraps what kernels raise."""
    root: BaseException = error
    while root.__cause__ is not None:
        root = root.__cause__
    root = host.refusal or root
    op, message = "", f"{type(root).__name__}: {root}"
    if isinstance(root, Refused):
        kind, op, message = root.kind, root.op, str(root)
    elif isinstance(root, NotImplementedError) and "interpreter mode" in str(root):
        kind, op = "unsupported", str(root).split()[0]
        message = f"Triton's interpreter does not know {op}"
    trace = "".join(traceback.format_exception(error))
    return {"kind": kind, "op": op, "message": message, "traceback": trace[-_LOG_BYTES:]}


def _result(
    outputs: list[dict[str, Any]],
    refusal: dict[str, str] | None,
    host: Host,
    log: io.StringIO,
    seconds: float,
) -> dict[str, Any]:
    text = log.getvalue()[-_LOG_BYTES:]
    log.seek(0)
    log.truncate()
    return {
        "outputs": outputs,
        "refusal": refusal,
        "host_ops": list(host.host_ops),
        "log": text,
        "seconds": seconds,
    }
