"""Work that several processes share."""

from __future__ import annotations

import faulthandler
import os
import select
import signal

import pytest
from ouroboros.trace.interpreter.side_by_side import side_by_side


def test_results_come_in_order_and_none_is_made_twice() -> None:
    mark, marks = os.pipe()

    def work(index: int) -> dict[str, object]:
        os.write(marks, bytes([index]))
        return {"square": index * index, "bytes": bytes([index])}

    sizes = [3, 1, 4, 1, 5, 9, 2, 6]
    assert side_by_side(work, sizes, 3) == [
        {"square": index * index, "bytes": bytes([index])} for index in range(8)
    ]
    assert sorted(os.read(mark, 100)) == list(range(8))


def test_two_calls_run_at_once() -> None:
    """Each waits for the other: one process alone would wait in vain."""
    pipes = [os.pipe(), os.pipe()]

    def work(index: int) -> bool:
        os.write(pipes[index][1], b"x")
        other = pipes[1 - index][0]
        ready, _, _ = select.select([other], [], [], 60)
        return bool(ready)

    assert side_by_side(work, [1, 1], 2) == [True, True]


def test_one_process_is_this_one() -> None:
    assert side_by_side(lambda _: os.getpid(), [1, 2, 3], 1) == [os.getpid()] * 3


def test_the_longest_begin_first() -> None:
    begun: list[int] = []

    def work(index: int) -> int:
        begun.append(index)
        return len(begun)

    # A fork that may not be made leaves all to this process, which takes the same turns.
    with pytest.MonkeyPatch.context() as patch:

        def refuse() -> int:
            raise OSError

        patch.setattr(os, "fork", refuse)
        assert side_by_side(work, [2, 9, 5], 2) == [3, 1, 2]
    assert begun == [1, 2, 0]


def test_results_larger_than_a_pipe_arrive() -> None:
    assert [len(one) for one in side_by_side(lambda _: bytes(1 << 20), [1] * 6, 3)] == [1 << 20] * 6


def test_a_process_that_ends_early_is_told() -> None:
    here = os.getpid()

    def work(index: int) -> int:
        if os.getpid() != here:
            os._exit(7)
        # Until the fork has taken one and ended.
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        return index

    with pytest.raises(ChildProcessError, match="ended with 7"):
        side_by_side(work, [1, 1, 1], 2)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_a_signal_that_ends_a_fork_ends_all(number: int) -> None:
    """A process killed for want of memory is no crash of the kernel's, whichever of them it was."""
    sharing = os.fork()
    if sharing == 0:
        faulthandler.disable()  # What it writes would look like a crash of the tests.
        here = os.getpid()

        def work(index: int) -> int:
            if os.getpid() != here:
                os.kill(os.getpid(), number)
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
            return index

        side_by_side(work, [1, 1, 1], 2)
        os._exit(0)
    _, status = os.waitpid(sharing, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == number
