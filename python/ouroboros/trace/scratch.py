"""Where processes that compile may write."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["scratch_folder"]


@contextlib.contextmanager
def scratch_folder(folder: str | None) -> Iterator[Path]:
    """Points everything that writes files at a folder, for a while: at a new one for None."""
    saved = dict(os.environ), tempfile.tempdir
    with contextlib.ExitStack() as stack:
        if folder is None:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="ouroboros-trace-"))
        path = Path(folder)
        os.environ["TRITON_CACHE_DIR"] = str(path / "triton")
        os.environ["TRITON_HOME"] = os.environ["TMPDIR"] = str(path)
        tempfile.tempdir = None
        try:
            yield path
        finally:
            os.environ.clear()
            os.environ.update(saved[0])
            tempfile.tempdir = saved[1]
