"""A candidate's scratch folder: how much it holds, and how to be rid of it.

Whatever is in it was made by hostile code: folders that may not be read, paths longer than a path
may be, links to elsewhere.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

__all__ = ["MAX_ENTRIES", "empty", "remove", "shortage", "usage"]

MAX_ENTRIES = 10_000


def usage(path: str) -> tuple[int, int]:
    """Returns how many bytes and entries are below `path`.

    Where there are more than `MAX_ENTRIES`, or some that cannot be counted: `MAX_ENTRIES + 1`.
    """
    total = count = 0
    waiting = [path]
    while waiting and count <= MAX_ENTRIES:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    count += 1
                    if count > MAX_ENTRIES:
                        break
                    status = entry.stat(follow_symlinks=False)
                    total += status.st_blocks * 512
                    if stat.S_ISDIR(status.st_mode):
                        waiting.append(entry.path)
        except OSError as error:
            if error.errno in (errno.ENAMETOOLONG, errno.EACCES):
                return total, MAX_ENTRIES + 1  # Files may be out of sight in there.
            # Else it went while it was counted.
    return total, count


def shortage(path: str, needed: int) -> str:
    """Returns a sentence where the file system had no room for `needed` bytes below `path`.

    What is there already counts as room: nobody else took it.
    """
    try:
        system = os.statvfs(path)
    except OSError:
        return ""
    left = system.f_bavail * system.f_frsize + usage(path)[0]
    # Some network file systems say that they have no capacity at all.
    if not system.f_blocks or left >= needed:
        return ""
    return (
        f"the file system of the scratch folder has {left >> 20} MiB left, and a candidate may "
        f"need {needed >> 20}: free some, or point Options::scratch or TMPDIR elsewhere"
    )


def empty(path: str) -> None:
    """Removes everything below `path`. Its writers must be gone.

    Folders are moved up before they are emptied, so that no path becomes long. Raises `OSError`.
    """
    root = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        os.fchmod(root, 0o700)
        serial = 0
        while names := _names(root):
            for name in names:
                serial = _remove_entry(root, name, serial)
    finally:
        os.close(root)


def _names(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def _remove_entry(root: int, name: str, serial: int) -> int:
    status = os.stat(name, dir_fd=root, follow_symlinks=False)
    if not stat.S_ISDIR(status.st_mode):
        os.unlink(name, dir_fd=root)
        return serial
    os.chmod(name, 0o700, dir_fd=root)
    folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=root)
    try:
        for inner in _names(folder):
            inner_status = os.stat(inner, dir_fd=folder, follow_symlinks=False)
            if not stat.S_ISDIR(inner_status.st_mode):
                os.unlink(inner, dir_fd=folder)
                continue
            os.chmod(inner, 0o700, dir_fd=folder)
            serial = _move_up(root, folder, inner, serial)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=root)
    return serial


def _move_up(root: int, folder: int, name: str, serial: int) -> int:
    while True:
        serial += 1
        target = f"removed-{serial}"
        try:
            os.stat(target, dir_fd=root, follow_symlinks=False)
        except FileNotFoundError:
            os.rename(name, target, src_dir_fd=folder, dst_dir_fd=root)
            return serial


def remove(path: str) -> str:
    """Removes `path` and all below it. Returns a sentence where that failed, else nothing."""
    try:
        empty(path)
        Path(path).rmdir()
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"a scratch folder could not be removed: {error}"
    return ""
