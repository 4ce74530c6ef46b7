"""Work that several processes share: this one, and forks of it."""

from __future__ import annotations

import contextlib
import marshal
import os
import signal
import struct
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

__all__ = ["side_by_side"]

_NUMBER = struct.Struct("=I")

_PIPE_BYTES = 1 << 16
"""What a pipe holds of what nobody has read (pipe(7))."""

_MOST = _PIPE_BYTES // _NUMBER.size

Work = Callable[[int], Any]


def side_by_side(work: Work, sizes: Sequence[int], processes: int) -> list[Any]:
    """Calls `work` with 0, 1 and so on, each once, in up to so many processes.

    Args:
        work: Returns what `marshal` can write.
        sizes: How long each call takes, in any unit: the longest begin first.
        processes: Fewer where the system gives no more.

    Returns:
        What the calls returned, in order.

    Raises:
        ChildProcessError: A fork ended before it had handed over what its calls returned. Where a
            signal ended it, this process ends by the same.
    """
    count = len(sizes)
    if min(count, processes) < 2 or count > _MOST:
        return [work(index) for index in range(count)]
    order = sorted(range(count), key=lambda index: -sizes[index])
    left, end = os.pipe()
    os.write(end, b"".join(map(_NUMBER.pack, order)))
    os.close(end)
    forks: list[tuple[int, int]] = []
    try:
        with contextlib.suppress(OSError):
            while len(forks) + 1 < min(count, processes):
                forks.append(_fork(work, left))
        found = dict(_calls(work, left))
        for process, results in forks:
            found.update(_handed_over(process, results))
    finally:
        os.close(left)
        for _, results in forks:
            os.close(results)
    return [found[index] for index in range(count)]


def _calls(work: Work, left: int) -> Iterator[tuple[int, Any]]:
    """Takes numbers until none is left; who is first has them."""
    while taken := os.read(left, _NUMBER.size):
        (index,) = _NUMBER.unpack(taken)
        yield index, work(index)


def _fork(work: Work, left: int) -> tuple[int, int]:
    """Returns a fork's process id, and where its results can be read."""
    results, end = os.pipe()
    process = os.fork()
    if process:
        os.close(end)
        return process, results
    try:
        os.close(results)
        with os.fdopen(end, "wb") as out:
            marshal.dump(list(_calls(work, left)), out)
        os._exit(0)
    except BaseException:
        os.write(2, traceback.format_exc().encode())
        os._exit(1)


def _handed_over(process: int, results: int) -> list[tuple[int, Any]]:
    with os.fdopen(results, "rb", closefd=False) as source:
        data = source.read()
    _, status = os.waitpid(process, 0)
    if os.WIFSIGNALED(status):
        _end_by(os.WTERMSIG(status))
    if status:
        code = os.waitstatus_to_exitcode(status)
        raise ChildProcessError(f"a process that shared the work ended with {code}")
    handed_over: list[tuple[int, Any]] = marshal.loads(data)
    return handed_over


def _end_by(number: int) -> None:
    """Ends this process as a fork of it ended.

    Who judges that end has to tell a kernel's fault from a machine that has no memory left.
    """
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
