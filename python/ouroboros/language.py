"""Which language a candidate is written in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, TypeAlias

__all__ = ["DEVICE_LANGUAGES", "PLAN_SUFFIX", "Language", "language_of", "language_of_path"]

Language: TypeAlias = Literal["cpp", "triton", "python", "cuda", "ptx"]
"""What candidates may be written in: C++ for the host, the others for a GPU."""

DEVICE_LANGUAGES: frozenset[Language] = frozenset({"triton", "python", "cuda", "ptx"})

PLAN_SUFFIX = ".plan"
"""Of files with a launch plan."""

_BY_SUFFIX: dict[str, Language] = {".cu": "cuda", ".ptx": "ptx", ".py": "triton"}
# A statement that only Python has: C++ ends `import std` with a semicolon.
_PYTHON = re.compile(
    rb"^(?:import[ \t]+[\w., \t]+|from[ \t]+[\w.]+[ \t]+import[ \t][^;\n]*|@[\w.]+[^;\n]*|"
    rb"def[ \t]+\w+\(.*)[ \t]*(?:#.*)?\r?$",
    re.MULTILINE,
)
_PTX = re.compile(rb"^\s*\.version\s+\d", re.MULTILINE)


def language_of(source: bytes) -> Language:
    """Tells the language of a text: Python is taken for Triton, what else has kernels is CUDA."""
    if _PYTHON.search(source):
        return "triton"
    if _PTX.search(source):
        return "ptx"
    if b"__global__" in source:
        return "cuda"
    return "cpp"


def language_of_path(path: str) -> Language:
    """Tells the language of a file from its suffix."""
    return _BY_SUFFIX.get(Path(path).suffix, "cpp")
