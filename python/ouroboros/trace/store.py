"""Baseline plans on disk, so that each is traced once for a machine and its software.

Only the referee writes here, never a process that runs a candidate. An entry that was cut short or
changed is no entry: it is traced again and written anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ouroboros.language import PLAN_SUFFIX
from ouroboros.trace.plan_file import read_plan

__all__ = ["PlanStore", "default_folder"]


def default_folder() -> Path:
    """Returns the folder by the XDG rules."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    # The rules: a relative path there is to be ignored.
    root = Path(base) if base and Path(base).is_absolute() else Path.home() / ".cache"
    return root / "ouroboros" / "plans"


class PlanStore:
    """Plans by what they depend on.

    A key is any mapping that JSON can hold: the problem's identity, shapes, dtype, kind, GPU,
    driver, and the versions of PyTorch and Triton.

    Args:
        folder: Where; made at the first write.
    """

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = Path(folder) if folder is not None else default_folder()

    def path(self, key: Mapping[str, Any]) -> Path:
        """Returns where the plan of a key lies, if it does."""
        text = json.dumps(key, sort_keys=True, separators=(",", ":"))
        return self.folder / (hashlib.sha256(text.encode()).hexdigest() + PLAN_SUFFIX)

    def get(self, key: Mapping[str, Any]) -> bytes | None:
        """Returns the plan of a key; None if there is none that is whole."""
        try:
            data = self.path(key).read_bytes()
            read_plan(data)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return data

    def put(self, key: Mapping[str, Any], plan: bytes) -> None:
        """Writes a plan so that a reader finds all of it or nothing."""
        target = self.path(key)
        self.folder.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=self.folder, prefix=target.stem, suffix=".new")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(plan)
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(target)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise
