"""What a candidate's processes build, kept for its later ones: a folder for each name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ouroboros.trace.zygote import scratch

__all__ = ["Builds"]


@dataclass
class _Folder:
    users: int = 0
    ends: bool = False  #: With its last user: it is forgotten, or one of its users failed.


class Builds:
    """The folders below one that is the zygote's own."""

    def __init__(self, folder: str) -> None:
        self._parent = Path(folder)
        self._folders: dict[str, _Folder] = {}

    def enter(self, name: str) -> str:
        """Returns the folder of that name, which `leave` gives back.

        It is empty where nothing was built yet. No folder ("") where there is no name, or where a
        process failed that shared it: that may have left a lock on it.
        """
        if not name:
            return ""
        path = str(self._parent / f"builds-{name}")
        if path not in self._folders:
            Path(path).mkdir(mode=0o700)
            self._folders[path] = _Folder()
        folder = self._folders[path]
        if folder.ends:
            return ""
        folder.users += 1
        return path

    def leave(self, path: str, well: bool) -> None:
        """Ends one use of a folder, which goes with its last one unless all went well."""
        if path:
            self._folders[path].users -= 1
            self._settle(path, ends=not well)

    def forget(self, name: str) -> None:
        """Removes the folder of that name as soon as nobody uses it."""
        path = str(self._parent / f"builds-{name}")
        if path in self._folders:
            self._settle(path, ends=True)

    def _settle(self, path: str, ends: bool) -> None:
        folder = self._folders[path]
        folder.ends |= ends
        if folder.ends and not folder.users:
            del self._folders[path]
            scratch.remove(path)
