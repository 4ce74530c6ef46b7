"""A warm process that is forked once for every candidate.

`python -m ouroboros.trace.zygote` is the command line that a `Tracer` is configured with;
docs/tracer.md describes the process tree, the frames and the limits.

The modules of this package know nothing of PyTorch or Triton: what is imported before the first
fork, and what is called in a child, is a table of names.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CommandLine", "command_line", "live_command_line"]


@dataclass(frozen=True)
class CommandLine:
    """How this interpreter's zygote is started: three of a `Tracer`'s options."""

    command: tuple[str, ...]
    readable: tuple[str, ...]  #: Folders that hold the interpreter and its modules.
    environment: dict[str, str]


def command_line(target: str = "sm_90") -> CommandLine:
    """Returns how a zygote is started that imports what this process imports.

    Args:
        target: What its compilers are warmed up for, e.g. ``"sm_90"``.
    """
    line = _interpreter("--target", target)
    environment = line.environment
    # PyTorch's CUDA build initialises the driver even for tensors without memory. That starts a
    # thread, and a process with threads cannot be forked. So the zygote gets a driver that finds no
    # GPU, and it has to be there before PyTorch is.
    no_driver = Path(__file__).parents[2] / "lib" / "libouroboros-no-driver.so"
    if no_driver.exists():
        environment["LD_PRELOAD"] = str(no_driver)
    return line


def live_command_line(ordinal: int = 0) -> CommandLine:
    """Returns how the zygote of live traces is started, whose children use a GPU.

    It has the driver in reach and never calls it: a child of a process that did could not.

    Args:
        ordinal: Of the GPU, as CUDA counts them by PCI bus.
    """
    line = _interpreter()
    visible = [one for one in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if one]
    environment = {
        **line.environment,
        "CUDA_DEVICE_ORDER": "PCI_BUS_ID",
        "CUDA_VISIBLE_DEVICES": visible[ordinal] if ordinal < len(visible) else str(ordinal),
    }
    folders = set(line.readable)
    for name in ("LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH"):
        if value := os.environ.get(name):
            environment[name] = value
            folders.update(path for path in value.split(os.pathsep) if Path(path).is_absolute())
    if library := os.environ.get("OUROBOROS_LIVE_LIBRARY"):
        environment["OUROBOROS_LIVE_LIBRARY"] = library
        folders.add(library)
    return CommandLine(line.command, tuple(sorted(folders)), environment)


def _interpreter(*arguments: str) -> CommandLine:
    modules = [str(Path(path).resolve()) for path in sys.path if path and Path(path).exists()]
    python = Path(sys.executable)
    # A virtual environment's interpreter is a chain of links.
    folders = {sys.prefix, sys.base_prefix, str(python.parent), str(python.resolve().parent)}
    isolated = ("-P",) if sys.version_info >= (3, 11) else ()
    return CommandLine(
        command=(str(python), *isolated, "-m", "ouroboros.trace.zygote", *arguments),
        readable=tuple(sorted({*modules, *folders})),
        environment={"PYTHONPATH": os.pathsep.join(modules), "PYTHONHASHSEED": "0"},
    )
