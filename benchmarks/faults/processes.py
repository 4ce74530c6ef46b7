"""The processes below a referee: what each of them is, as /proc shows it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Process", "become_subreaper", "below", "kill", "reap_orphans"]

_PR_SET_CHILD_SUBREAPER = 36
_COMPILERS = {"c++", "g++", "cc1plus", "as", "collect2", "ld", "ld.bfd", "real-ld"}
_PROGRAMS = {
    "ouroboros-executor": "executor",
    "ouroboros-cuda-executor": "cuda executor",
    "ouroboros-cuda-compiler": "cuda compiler",
}


@dataclass(frozen=True)
class Process:
    """One process, its kind, and when it began (which a reused id would not share)."""

    pid: int
    kind: str
    start: str


def become_subreaper() -> None:
    """Has processes whose parents end, and which nobody else adopts, become children of this."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found += map(int, (task / "children").read_text().split())
    return found


def _start(pid: int) -> tuple[str, str]:
    """State and start time."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return fields[0], fields[19]


def _kind(command: list[str], parent: str) -> str:
    program = Path(command[0]).name
    if program == "ouroboros-sandbox":
        inside = command[command.index("--") + 1 :] if "--" in command else []
        return f"sandbox of the {_kind(inside, '')}" if inside else "sandbox"
    if program in _PROGRAMS:
        return _PROGRAMS[program]
    if program in _COMPILERS or "++" in program:
        return "compiler" if "--version" not in command else "compiler's version"
    if program.startswith("ptxas"):
        return "assembler"
    if "ouroboros.trace.zygote" in command:
        warm = "live zygote" if "--gpu" in command else "zygote"
        below_it = {warm: "supervisor", "supervisor": "tracer", "tracer": "tracer"}
        return below_it.get(parent, warm)
    return f"other ({program})"


def below(root: int, kind: str = "") -> list[Process]:
    """Returns all living processes below `root`. Zombies are none: they hold nothing."""
    found: list[Process] = []
    waiting = [(child, kind) for child in _children(root)]
    while waiting:
        pid, parent = waiting.pop()
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
            state, start = _start(pid)
        except OSError:
            continue
        if state == "Z" or not command:
            continue
        own = _kind(command.rstrip("\0").split("\0"), parent)
        found.append(Process(pid, own, start))
        waiting += [(child, own) for child in _children(pid)]
    return found


def kill(process: Process, number: int) -> bool:
    """Signals the process that was seen, and no other of its id. Returns whether it was there."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:
        return False
    try:
        state, start = _start(process.pid)
        if start != process.start or state == "Z":
            return False
        signal.pidfd_send_signal(descriptor, number)
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)


def reap_orphans(known: set[int]) -> list[str]:
    """Returns the commands of this process' children that are not in `known`; ends them."""
    found = []
    for pid in _children(os.getpid()):
        if pid in known:
            continue
        with contextlib.suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
            if command:  # Else it is ending, and has no memory any more.
                found.append(command[:300])
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
    return found
