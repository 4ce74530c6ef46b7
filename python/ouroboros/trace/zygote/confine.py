"""What the kernel offers to confine a process, called without anything but ctypes."""

from __future__ import annotations

import ctypes
import errno
import os
import resource
import struct
from collections.abc import Iterable
from pathlib import Path

__all__ = [
    "become_subreaper",
    "die_with_parent",
    "drop_capabilities",
    "enter_namespaces",
    "has_one_thread",
    "hide_memory",
    "own_proc_entry",
    "refuse_calls",
    "restrict_files",
    "set_limit",
]

_libc = ctypes.CDLL(None, use_errno=True)

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_SIGKILL = 9

_CLONE_THREAD = 0x00010000
_NAMESPACES = {"ipc": 0x08000000, "pid": 0x20000000}
_CLONE_NEWUSER = 0x10000000

# Landlock's system calls have these numbers on every architecture.
_LANDLOCK_CREATE_RULESET = 444
_LANDLOCK_ADD_RULE = 445
_LANDLOCK_RESTRICT_SELF = 446
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_ABI1 = (1 << 13) - 1
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _prctl(option: int, value: int, what: str) -> None:
    _check(_libc.prctl(option, value, 0, 0, 0), what)


def die_with_parent(parent: int) -> None:
    """Has this process killed when its parent, process `parent`, ends."""
    _prctl(_PR_SET_PDEATHSIG, _SIGKILL, "PR_SET_PDEATHSIG")
    if os.getppid() not in (parent, 0):  # 0: the parent is outside this pid namespace.
        os._exit(1)


def become_subreaper() -> None:
    """Makes descendants whose parents end children of this process."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1, "PR_SET_CHILD_SUBREAPER")


def hide_memory() -> None:
    """Denies debuggers and /proc the memory of this process, and new privileges to it."""
    _prctl(_PR_SET_DUMPABLE, 0, "PR_SET_DUMPABLE")
    _prctl(_PR_SET_NO_NEW_PRIVS, 1, "PR_SET_NO_NEW_PRIVS")


def own_proc_entry() -> None:
    """Has this process' folder in /proc belong to its user again, as CUDA's driver needs it.

    Other processes' debuggers are then kept away by their user namespaces and Landlock domains.
    """
    _prctl(_PR_SET_DUMPABLE, 1, "PR_SET_DUMPABLE")


def has_one_thread() -> bool:
    """Whether a fork of this process would lose no thread."""
    try:
        return len(list(Path("/proc/self/task").iterdir())) == 1
    except OSError:
        # The kernel refuses this to a process that has threads, and has nothing to do otherwise.
        return bool(_libc.unshare(_CLONE_THREAD) == 0)


def enter_namespaces(pid: bool = True) -> tuple[list[str], list[str]]:
    """Moves this process, and for "pid" its children, into namespaces of their own.

    Args:
        pid: Whether one of processes is wanted.

    Returns:
        The names of those entered, and a sentence for each that was not.
    """
    entered, missing = [], []
    if _libc.unshare(_CLONE_NEWUSER) == 0:
        entered.append("user")
    else:
        missing.append(f"a tracer has no user namespace: {os.strerror(ctypes.get_errno())}")
    for name, flag in _NAMESPACES.items():
        if name == "pid" and not pid:
            continue
        if _libc.unshare(flag) == 0:
            entered.append(name)
        else:
            missing.append(f"a tracer has no {name} namespace: {os.strerror(ctypes.get_errno())}")
    return entered, missing


def drop_capabilities() -> None:
    """Gives up what a process holds that has made a user namespace."""
    header = struct.pack("<Ii", 0x20080522, 0)
    _check(_libc.capset(header, bytes(24)), "capset")


def set_limit(name: str, value: int) -> None:
    """Sets a resource limit, e.g. "NOFILE", to at most `value`."""
    number = getattr(resource, f"RLIMIT_{name}")
    _, hard = resource.getrlimit(number)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(number, (value, value))


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not Path(path).is_dir():
            rights &= _OF_FILES
        rule = ctypes.create_string_buffer(struct.pack("<Qi", rights, descriptor))
        _check(
            _libc.syscall(_LANDLOCK_ADD_RULE, ruleset, 1, rule, 0),
            f"a Landlock rule for {path}",
        )
    finally:
        os.close(descriptor)


def restrict_files(readable: Iterable[str], writable: Iterable[str]) -> int:
    """Restricts this process to reading and executing below `readable`, and to `writable`.

    As far as the kernel goes, TCP, and signals and abstract sockets to the outside, are denied
    too. Needs no_new_privs. Raises `OSError`.

    Returns:
        The ABI of Landlock in force; 0 where the kernel has none.
    """
    abi = _libc.syscall(_LANDLOCK_CREATE_RULESET, None, 0, 1)
    if abi < 1:
        if ctypes.get_errno() in (errno.ENOSYS, errno.EOPNOTSUPP):
            return 0
        _check(abi, "Landlock")
    files = (
        _ABI1
        | (_REFER if abi >= 2 else 0)
        | (_TRUNCATE if abi >= 3 else 0)
        | (_IOCTL_DEV if abi >= 5 else 0)
    )
    size = 24 if abi >= 6 else 16 if abi >= 4 else 8
    attributes = struct.pack("<QQQ", files, 3, 3)[:size]
    ruleset = _check(
        _libc.syscall(_LANDLOCK_CREATE_RULESET, attributes, size, 0), "a Landlock rule set"
    )
    try:
        for path in readable:
            _allow(ruleset, path, (_EXECUTE | _READ_FILE | _READ_DIR) & files)
        for path in writable:
            _allow(ruleset, path, files)
        _check(_libc.syscall(_LANDLOCK_RESTRICT_SELF, ruleset, 0), "Landlock")
    finally:
        os.close(ruleset)
    return int(abi)


# Landlock does not see changes of a file's mode, owner, times and extended attributes, and every
# file of the user is within their reach: a candidate could close the interpreter to the next one.
# chmod, fchmod, fchmodat, chown, fchown, lchown, fchownat, utime, utimes, futimesat, utimensat,
# (l|f)setxattr, (l|f)removexattr; newer kernels have fchmodat2, setxattrat and removexattrat.
_NEW_CALLS = (452, 463, 466)
_ATTRIBUTE_CALLS = {
    "x86_64": (0xC000003E, (90, 91, 268, 92, 93, 94, 260, 132, 235, 261, 280, 188, 189, 190, 197,
                            198, 199, *_NEW_CALLS)),
    "aarch64": (0xC00000B7, (52, 53, 54, 55, 88, 5, 6, 7, 14, 15, 16, *_NEW_CALLS)),
}  # fmt: skip
# Without a pid namespace of its own, a candidate sees the processes of its user. These reach them:
# some with a process' id first, of which its own is allowed, some whatever their arguments are, and
# some by a command: F_SETOWN, F_SETOWN_EX, F_SETSIG, FIOSETOWN, SIOCSPGRP.
# kill, tgkill, prlimit64; tkill, rt_sigqueueinfo, rt_tgsigqueueinfo, pidfd_send_signal,
# process_vm_writev, setpriority; fcntl, ioctl.
_SIGNAL_CALLS = {
    "x86_64": ((62, 234, 302), (200, 129, 297, 424, 311, 141), 72, 16),
    "aarch64": ((129, 131, 261), (130, 138, 240, 424, 271, 140), 25, 29),
}
_SIGNAL_FCNTLS, _SIGNAL_IOCTLS = (8, 15, 10), (0x8901, 0x8902)

_X32_BIT = 0x40000000
_PR_SET_SECCOMP = 22
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24  # Offsets; arguments' lower halves.

_Instruction = tuple[int, int, int, int]


def _refuse_if(value: int) -> list[_Instruction]:
    """Refuses where what was loaded is `value`."""
    return [(_EQUAL, 0, 1, value), (_RETURN, 0, 0, _REFUSE)]


def _own_processes_only(machine: str) -> list[_Instruction]:
    own, never, fcntl, ioctl = _SIGNAL_CALLS[machine]
    program: list[_Instruction] = []
    for call in never:
        program += _refuse_if(call)
    for call in own:
        program += [
            (_EQUAL, 0, 5, call),
            (_LOAD, 0, 0, _FIRST),
            (_EQUAL, 1, 0, os.getpid()),
            (_EQUAL, 0, 1, 0),  # This process, or its group, which is a session of its own.
            (_RETURN, 0, 0, _ALLOW),
            (_RETURN, 0, 0, _REFUSE),
        ]
    for call, commands in ((fcntl, _SIGNAL_FCNTLS), (ioctl, _SIGNAL_IOCTLS)):
        program += [(_EQUAL, 0, 2 + 2 * len(commands), call), (_LOAD, 0, 0, _SECOND)]
        for command in commands:
            program += _refuse_if(command)
        program.append((_RETURN, 0, 0, _ALLOW))
    return program


def refuse_calls(own_processes_only: bool = False) -> list[str]:
    """Has system calls fail with EPERM that Landlock does not see. Needs no_new_privs.

    Args:
        own_processes_only: Besides changes of files' attributes, signals to other processes too.

    Returns:
        A sentence where that is not possible.
    """
    what = "a tracer may change attributes of files"
    if own_processes_only:
        what += " and signal other processes"
    machine = os.uname().machine
    if machine not in _ATTRIBUTE_CALLS:
        return [f"{what}: no filter is known for {machine}"]
    architecture, calls = _ATTRIBUTE_CALLS[machine]
    program: list[_Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),  # Other ones number calls differently.
        (_EQUAL, 1, 0, architecture),
        (_RETURN, 0, 0, _REFUSE),
        (_LOAD, 0, 0, _NUMBER),
        (_AT_LEAST, 0, 1, _X32_BIT),
        (_RETURN, 0, 0, _REFUSE),
    ]
    for call in calls:
        program += _refuse_if(call)
    if own_processes_only:
        program += _own_processes_only(machine)
    program.append((_RETURN, 0, 0, _ALLOW))
    code = ctypes.create_string_buffer(
        b"".join(struct.pack("<HBBI", *instruction) for instruction in program)
    )
    header = ctypes.create_string_buffer(struct.pack("@HP", len(program), ctypes.addressof(code)))
    if _libc.prctl(_PR_SET_SECCOMP, 2, header, 0, 0) != 0:
        reason = os.strerror(ctypes.get_errno())
        return [f"{what}: no seccomp filter: {reason}"]
    return []
