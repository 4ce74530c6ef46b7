"""How the native library starts the tracer, and where it finds CUDA's compilers."""

from __future__ import annotations

import atexit
import functools
import importlib.util
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from ouroboros._ouroboros import Limits, Tracer
from ouroboros.trace.zygote import CommandLine, command_line, live_command_line

__all__ = ["library_folders", "make_live_tracer", "make_tracer"]

# By what they were made with. A zygote takes seconds to start, which a notebook that calls `verify`
# again and again should pay once; it starts when it is needed and ends with this process.
_shared: dict[str, Tracer] = {}
_lock = threading.Lock()
atexit.register(_shared.clear)


def make_tracer(
    limits: Limits,
    target: str = "",
    scratch: str = "",
    cancelled: Callable[[], bool] | None = None,
) -> Tracer | None:
    """Returns a tracer that runs in this interpreter; None where there is no Triton.

    Calls with the same arguments share one, except those with a hook of their own.
    """
    if importlib.util.find_spec("triton") is None:
        return None
    line = command_line(target) if target else command_line()
    return _tracer(line, limits, scratch, cancelled)


def _tracer(
    line: CommandLine,
    limits: Limits,
    scratch: str,
    cancelled: Callable[[], bool] | None,
    gpu: bool = False,
) -> Tracer:
    if cancelled is not None:
        return _make(line, limits, scratch, cancelled, gpu)
    bounds = {name: getattr(limits, name) for name in dir(limits) if not name.startswith("_")}
    # A forked process needs a zygote of its own.
    key = repr((os.getpid(), line, bounds, scratch, gpu))
    with _lock:
        if key not in _shared:
            _shared[key] = _make(line, limits, scratch, None, gpu)
        return _shared[key]


def _make(
    line: CommandLine,
    limits: Limits,
    scratch: str,
    cancelled: Callable[[], bool] | None,
    gpu: bool,
) -> Tracer:
    return Tracer(
        command=list(line.command),
        readable=list(line.readable),
        environment=dict(line.environment),
        limits=limits,
        scratch=scratch,
        cancelled=cancelled,
        gpu=gpu,
    )


def make_live_tracer(
    limits: Limits,
    ordinal: int = 0,
    scratch: str = "",
    cancelled: Callable[[], bool] | None = None,
) -> Tracer:
    """Returns a tracer whose candidates use the GPU of that number. It starts when it is needed.

    Calls with the same arguments share one, except those with a hook of their own.
    """
    return _tracer(live_command_line(ordinal), limits, scratch, cancelled, gpu=True)


@functools.cache
def library_folders() -> list[str]:
    """Returns the folders where wheels put CUDA's libraries."""
    found = [str(folder) for root in sys.path for folder in sorted(Path(root).glob("nvidia/*/lib"))]
    return list(dict.fromkeys(found))
