"""What a candidate prints, kept away from whoever reads this process's output."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Log", "captured"]

LIMIT = 1 << 16


@dataclass
class Log:
    """What was printed, at most `LIMIT` bytes of it."""

    text: str = ""


@contextlib.contextmanager
def captured(folder: Path) -> Iterator[Log]:
    """Sends stdout and stderr, C code's too, to a file in `folder` that nobody else sees."""
    log = Log()
    with tempfile.TemporaryFile(dir=folder) as file:
        saved = [os.dup(1), os.dup(2)]
        _flush()
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        try:
            yield log
        finally:
            _flush()
            for descriptor, original in zip((1, 2), saved, strict=True):
                os.dup2(original, descriptor)
                os.close(original)
            file.seek(0)
            log.text = file.read(LIMIT).decode(errors="replace")


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        # A candidate may have closed or replaced them.
        with contextlib.suppress(Exception):
            stream.flush()
