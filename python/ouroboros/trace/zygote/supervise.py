"""A supervisor: a process between the zygote and one child, which no candidate's code enters.

It forks the child, reads its result, holds it to its limits, ends its whole tree, removes its
scratch folder, and only then reports to the zygote.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
import traceback
from typing import Any, NoReturn

from ouroboros.trace.zygote import child, confine, processes, scratch
from ouroboros.trace.zygote.frames import Decoder, Frame, FrameError, encode
from ouroboros.trace.zygote.job import MIB, Job

__all__ = ["run"]

_WATCH_SECONDS = 0.05
_CHUNK = 1 << 16
_MAX_TEXT = 20_000
_GIVEN_TO_THE_GPU = (
    "a live tracer reaches the GPU's driver, /proc and /dev/shm",
    "a live tracer has no pid namespace: CUDA's driver does not start in one",
    "a live tracer's address space is not limited: CUDA reserves more than there is memory",
)


def run(job: Job, channel: int, zygote: int) -> NoReturn:
    """Carries `job` out and sends one frame to `channel`.

    That is a socket, whose other end closes when the request is cancelled.
    """
    try:
        _close_all_but({channel})
        os.setsid()
        confine.die_with_parent(zygote)
        confine.become_subreaper()
        supervisor = _Supervisor(job, channel)
        _send(channel, ({"shut_in": supervisor.shut_in}, []))
        _send(channel, supervisor.run())
    except BaseException:
        with contextlib.suppress(OSError):
            _send(channel, ({"infrastructure": traceback.format_exc()[-4000:]}, []))
    finally:
        os._exit(0)


def _close_all_but(kept: set[int]) -> None:
    low = 3
    for descriptor in sorted(kept):
        os.closerange(low, descriptor)
        low = descriptor + 1
    os.closerange(low, os.sysconf("SC_OPEN_MAX"))


def _send(channel: int, frame: Frame) -> None:
    data = memoryview(encode(*frame))
    with contextlib.suppress(ConnectionError):  # The zygote does not wait for it any more.
        while data:
            data = data[os.write(channel, data) :]


class _Supervisor:
    def __init__(self, job: Job, channel: int) -> None:
        self._job = job
        self._channel = channel
        self._entered, self._missing = confine.enter_namespaces(pid=not job.access.gpu)
        if job.access.gpu:
            self._missing += _GIVEN_TO_THE_GPU
        self._decoder = Decoder(job.limits.result_mib * MIB)
        self._confinement: dict[str, Any] | None = None
        self._outcome: Frame | None = None
        self._received = 0
        self._log = bytearray()
        self._start = time.monotonic()
        self._looked_at = self._start
        self._waited = 0.0
        self._waited_ns: dict[str, int] = {}
        self._result, result_end = os.pipe()
        self._output, output_end = os.pipe()
        supervisor = os.getpid()
        self._child = os.fork()
        if self._child == 0:
            os.dup2(output_end, 1)
            os.dup2(output_end, 2)
            _close_all_but({result_end})
            child.run(job, result_end, supervisor, self._entered)
        os.close(result_end)
        os.close(output_end)
        os.set_blocking(self._result, False)
        os.set_blocking(self._output, False)

    @property
    def shut_in(self) -> bool:
        """Whether the candidate sees no process but its own."""
        return "pid" in self._entered

    def run(self) -> Frame:
        try:
            self._watch()
        finally:
            status = self._end_tree()
            self._drain()
            full = scratch.shortage(self._job.scratch, self._job.limits.file_mib * MIB)
            remains = scratch.remove(self._job.scratch)
        outcome = self._outcome or (_crash(status), [])
        if self._confinement is None and not self._is_cancelled():
            # None of the candidate's code has run.
            document, _ = outcome
            log = self._log.decode(errors="replace")
            why = f"a tracer could not be made ready: {document['message']} {log}".strip()
            return {"infrastructure": why, "killed": document.get("killed", False)}, []
        if full and not self._is_cancelled():
            return {"infrastructure": full}, []
        if remains:
            self._missing.append(remains)
        document, blobs = outcome
        return {**document, **self._report()}, blobs

    def _is_cancelled(self) -> bool:
        return self._outcome is not None and self._outcome[0].get("failure") == "cancelled"

    def _report(self) -> dict[str, Any]:
        confinement = self._confinement or {"landlock_abi": 0, "missing": []}
        return {
            "log": self._log.decode(errors="replace"),
            "wall_seconds": time.monotonic() - self._start,
            "isolation": {
                "namespaces": self._entered,
                "landlock_abi": confinement["landlock_abi"],
                "missing": self._missing + confinement["missing"],
            },
        }

    def _watch(self) -> None:
        """Returns when there is an outcome, or when the child has ended without one."""
        ended = os.pidfd_open(self._child)
        poll = select.poll()
        for descriptor in (self._result, self._output, self._channel, ended):
            poll.register(descriptor, select.POLLIN)
        look_at = self._start + _WATCH_SECONDS
        while self._outcome is None:
            now = time.monotonic()
            waited = min(self._waited, self._job.limits.waiting_seconds)
            deadline = self._start + self._job.limits.seconds + waited
            if now >= deadline:
                besides = f", besides {waited:.0f} of waiting for a processor"
                self._fail("timeout", f"the candidate was stopped after "
                           f"{self._job.limits.seconds:g} seconds"
                           f"{besides if waited >= 0.5 else ''}")  # fmt: skip
                break
            if now >= look_at:
                self._look()
                # A tree that takes long to look at must not take all the time there is.
                look_at = time.monotonic() + max(_WATCH_SECONDS, 4 * (time.monotonic() - now))
                continue
            wait = min(deadline, look_at) - now
            ready = {descriptor for descriptor, _ in poll.poll(wait * 1000 + 1)}
            if self._channel in ready:
                self._fail("cancelled", "the request was cancelled")
            if self._output in ready and not self._read_log():
                poll.unregister(self._output)
            if self._result in ready and not self._read_result():
                poll.unregister(self._result)
            if ended in ready:
                while self._outcome is None and self._read_result():
                    continue
                break
        os.close(ended)

    def _fail(self, kind: str, message: str) -> None:
        if self._outcome is None:
            self._outcome = {"failure": kind, "message": message}, []

    def _read_log(self) -> bool:
        """Reads some output and keeps what there is room for. Returns whether there is more."""
        try:
            chunk = os.read(self._output, _CHUNK)
        except BlockingIOError:
            return True
        room = self._job.limits.log_kib * 1024 - len(self._log)
        self._log += chunk[: max(room, 0)]
        return bool(chunk)

    def _read_result(self) -> bool:
        try:
            chunk = os.read(self._result, 1 << 20)
        except BlockingIOError:
            return False
        self._received += len(chunk)
        if self._received > self._job.limits.result_mib * MIB:
            limit = self._job.limits.result_mib
            self._fail("output_too_large", f"the candidate's result is larger than {limit} MiB")
            return False
        # One by one: what follows the first frame, which is not the candidate's, may be garbage.
        self._decoder.add(chunk)
        try:
            while (frame := self._decoder.next()) is not None:
                self._accept(frame)
        except FrameError as error:
            self._fail("crashed", f"the candidate's process returned no result: {error}")
        return bool(chunk)

    def _accept(self, frame: Frame) -> None:
        document, blobs = frame
        if self._confinement is None:
            if "unfit" in document:
                self._fail("unfit", document["unfit"])
            else:
                self._confinement = document["confinement"]
        elif self._outcome is None:
            self._outcome = _checked(document), blobs

    def _look(self) -> None:
        """Holds the child's tree to the limits that the kernel does not hold it to."""
        limits = self._job.limits
        used_by = [scratch.usage(path) for path in (self._job.scratch, self._job.builds) if path]
        size, entries = (sum(part) for part in zip(*used_by, strict=True))
        if size > limits.scratch_mib * MIB:
            self._fail("output_too_large", f"the candidate wrote more than {limits.scratch_mib} "
                       "MiB to its scratch folder")  # fmt: skip
        elif entries > scratch.MAX_ENTRIES:
            self._fail("output_too_large", f"the candidate made more than {scratch.MAX_ENTRIES} "
                       "files in its scratch folder, or hid some")  # fmt: skip
        try:
            below = processes.descendants(most=limits.processes)
        except OSError:
            sentence = "a tracer's processes are not counted: /proc does not show them"
            if sentence not in self._missing:
                self._missing.append(sentence)
            return
        if len(below) > limits.processes:
            self._fail("crashed", f"the candidate had more than {limits.processes} processes at "
                       "once")  # fmt: skip
            return
        self._count_waiting(below)
        base = self._job.base_resident
        used = sum(max(0, processes.resident_bytes(process) - base) for process in below)
        if used > limits.memory_mib * MIB:
            self._fail("out_of_memory", f"the candidate held more than {limits.memory_mib} MiB of "
                       "memory")  # fmt: skip

    def _count_waiting(self, below: list[int]) -> None:
        """Adds what the tree has waited for a processor since the last look.

        That is what the machine took, not the candidate: others compute on it. Of threads side by
        side the one that waited longest counts; what ended between two looks does not.
        """
        now = time.monotonic()
        known, self._waited_ns = self._waited_ns, {}
        for process in below:
            self._waited_ns |= processes.waited_ns(process)
        longest = max((at - known.get(task, 0) for task, at in self._waited_ns.items()), default=0)
        self._waited += min(longest * 1e-9, now - self._looked_at)
        self._looked_at = now

    def _end_tree(self) -> int:
        """Ends the child and all its descendants; returns the child's wait status."""
        # All of its session that stay in its group go at once, which no forking outruns.
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError):
                kill(self._child, signal.SIGKILL)
        # The first process of a pid namespace is not reaped before the others are gone.
        _, status = os.waitpid(self._child, 0)
        if not self.shut_in and not processes.kill_descendants():
            self._missing.append("processes that a tracer left could not be looked for")
        return status

    def _drain(self) -> None:
        while self._log_waits() and self._read_log():
            continue

    def _log_waits(self) -> bool:
        return bool(select.select([self._output], [], [], 0)[0])


def _checked(document: dict[str, Any]) -> dict[str, Any]:
    """What a candidate's process may say beside its blobs. Raises `FrameError`."""
    if not document:
        return {}
    kinds = ("crashed", "out_of_memory", "output_too_large")
    if document.get("failure") not in kinds:
        raise FrameError("its frame has a failure of no known kind")
    texts = {key: document.get(key, "") for key in ("failure", "message", "traceback")}
    if not all(isinstance(text, str) and len(text) <= _MAX_TEXT for text in texts.values()):
        raise FrameError("its frame has a failure that is no text")
    return {key: text.encode(errors="replace").decode() for key, text in texts.items()}


def _crash(status: int) -> dict[str, Any]:
    """What the end of a process says that gave no result. "killed": perhaps from outside."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        end = f"was ended by signal {number} ({signal.strsignal(number)})"
    else:
        end = f"ended with status {os.WEXITSTATUS(status)}"
    return {
        "failure": "crashed",
        "message": f"the candidate's process {end} before its result",
        "killed": os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL,
    }
