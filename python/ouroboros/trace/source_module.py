"""Source that is no file, as a module whose kernels Triton can read."""

from __future__ import annotations

import linecache
import sys
from types import ModuleType

__all__ = ["source_module"]


def source_module(name: str, source: str, filename: str) -> ModuleType:
    """Runs `source` as the module `name`.

    Args:
        name: As `sys.modules` has it from now on.
        source: Python.
        filename: The same everywhere: it is in the line table of every cubin, and so in its hash.
    """
    lines = source.splitlines(keepends=True)
    # Triton reads a kernel's source through here; no time stamp: never looked for on disk.
    linecache.cache[filename] = (len(source), None, lines, filename)
    module = ModuleType(name)
    module.__file__ = filename
    sys.modules[name] = module
    exec(compile(source, filename, "exec"), module.__dict__)
    return module
