"""How the native library starts the tracer, and where it finds CUDA's compilers."""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

from ouroboros._ouroboros import Limits, Tracer
from ouroboros.trace.zygote import command_line, live_command_line

__all__ = ["library_folders", "make_live_tracer", "make_tracer"]


def make_tracer(
    limits: Limits,
    target: str = "",
    scratch: str = "",
    cancelled: Callable[[], bool] | None = None,
) -> Tracer | None:
    """Returns a tracer that runs in this interpreter; None where there is no Triton."""
    if importlib.util.find_spec("triton") is None:
        return None
    line = command_line(target) if target else command_line()
    return Tracer(
        command=list(line.command),
        readable=list(line.readable),
        environment=dict(line.environment),
        limits=limits,
        scratch=scratch,
        cancelled=cancelled,
    )


def make_live_tracer(
    limits: Limits,
    ordinal: int = 0,
    scratch: str = "",
    cancelled: Callable[[], bool] | None = None,
) -> Tracer:
    """Returns a tracer whose candidates use the GPU of that number. It starts when it is needed."""
    line = live_command_line(ordinal)
    return Tracer(
        command=list(line.command),
        readable=list(line.readable),
        environment=dict(line.environment),
        limits=limits,
        scratch=scratch,
        cancelled=cancelled,
        gpu=True,
    )


@functools.cache
def library_folders() -> list[str]:
    """Returns the folders where wheels put CUDA's libraries."""
    found = [str(folder) for root in sys.path for folder in sorted(Path(root).glob("nvidia/*/lib"))]
    return list(dict.fromkeys(found))
