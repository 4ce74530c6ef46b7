"""The processes below this one, as /proc shows them.

/proc may be that of another pid namespace, so nothing here deals in the ids that `os.getpid`
gives: a process is a folder of /proc, and this one is /proc/self.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
from collections.abc import Container
from pathlib import Path

__all__ = ["descendants", "kill_descendants", "own_memory", "resident_bytes", "waited_ns"]

_PAGE = os.sysconf("SC_PAGE_SIZE")
_PROC = Path("/proc")


def descendants(kept: Container[int] = (), most: float = math.inf) -> list[int]:
    """Returns the ids, as /proc numbers them, of all processes below this one.

    Children whose own ids are in `kept` are left out, with all below them. The search ends at one
    more than `most`: it may not be slower than a tree grows.

    Raises `OSError` where the kernel or the sandbox does not show them.
    """
    found: list[int] = []
    children = _children((_PROC / "self").readlink().name)
    waiting = [child for child in children if not kept or _own_id(child) not in kept]
    while waiting and len(found) <= most:
        process = waiting.pop()
        found.append(process)
        try:
            waiting += _children(str(process))
        except OSError:
            continue  # It has ended.
    return found


def _children(process: str) -> list[int]:
    tasks = _PROC / process / "task"
    return [
        int(word) for task in tasks.iterdir() for word in (task / "children").read_text().split()
    ]


def resident_bytes(process: int | str) -> int:
    """Returns the memory that a process holds; 0 when it has ended."""
    try:
        return int((_PROC / str(process) / "statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0


def waited_ns(process: int | str) -> dict[str, int]:
    """Returns how long each thread of a process has waited, ready to run, for a processor.

    By the threads' ids; empty when it has ended, or where the kernel does not count this. From
    `schedstat`: https://docs.kernel.org/scheduler/sched-stats.html.
    """
    waited: dict[str, int] = {}
    with contextlib.suppress(OSError, IndexError):
        for task in (_PROC / str(process) / "task").iterdir():
            waited[task.name] = int((task / "schedstat").read_text().split()[1])
    return waited


def own_memory() -> tuple[int, int]:
    """Returns this process' address space and resident memory, in bytes. Raises `OSError`."""
    words = (_PROC / "self" / "statm").read_text().split()
    return int(words[0]) * _PAGE, int(words[1]) * _PAGE


def kill_descendants(kept: Container[int] = ()) -> bool:
    """Kills and reaps all processes below this one, which must be their subreaper.

    For descendants in this process' own pid namespace. Children in `kept`, and what is below
    them, stay.

    Returns:
        Whether none is left.
    """
    try:
        while processes := {_own_id(process) for process in descendants(kept)} - {0}:
            for process in processes:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            for process in processes:
                # A process that is not this one's child yet becomes it when its parent is gone.
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(process, 0)
    except OSError:
        return False
    return True


def _own_id(process: int) -> int:
    """The id by which this process can signal another; 0 when that has ended."""
    ids = _ids(str(process))
    # One for each pid namespace from that of /proc down. It may be in one below this process',
    # where it has a number of its own, by which only those in there know it.
    return ids[len(_ids("self")) - 1] if ids else 0


def _ids(process: str) -> list[int]:
    try:
        status = (_PROC / process / "status").read_text()
    except OSError:
        return []
    key = "NSpid:" if "NSpid:" in status else "Pid:"  # A kernel may have no such namespaces.
    (line,) = (line for line in status.splitlines() if line.startswith(key))
    return [int(word) for word in line.split()[1:]]
