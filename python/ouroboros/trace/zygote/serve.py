"""The zygote's loop: requests in, one supervisor for each, replies out. No threads."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import re
import secrets
import selectors
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ouroboros.trace.zygote import confine, processes, scratch, supervise
from ouroboros.trace.zygote.builds import Builds
from ouroboros.trace.zygote.frames import Decoder, Frame, FrameError, encode, unpack
from ouroboros.trace.zygote.job import Access, Job, Limits

__all__ = ["Zygote", "preload"]

_CHUNK = 1 << 18

# A kill may come from outside, where memory is short for instance, and says nothing about the
# candidate then. One that has itself killed is killed every time.
_ATTEMPTS = 5


def preload(names: Sequence[str], target: str) -> None:
    """Imports what children need, and calls each module's `warm(target)` where it has one."""
    for name in names:
        module = importlib.import_module(name)
        if hasattr(module, "warm"):
            module.warm(target)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    gc.collect()
    gc.freeze()  # Collections in children would touch, and so copy, every page.
    gc.disable()


def require_fork_safety() -> None:
    """Raises `RuntimeError` unless children start from a state that is whole and not shared."""
    if not confine.has_one_thread():
        raise RuntimeError("the zygote has threads, which a fork would lose: preload less")
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/maps").read_text().splitlines():
            if "w" in line.split()[1] and "s" in line.split()[1]:
                raise RuntimeError(f"the zygote shares memory with its children: {line}")


class _Running:
    def __init__(
        self, identity: int, attempt: int, job: Job, supervisor: int, channel: socket.socket
    ) -> None:
        self.identity = identity
        self.attempt = attempt
        self.job = job
        self.supervisor = supervisor
        self.channel = channel
        self.deadline = time.monotonic() + job.limits.seconds
        self.cancelled = False
        self.shut_in = False  # Whether the candidate cannot reach its supervisor.
        self.decoder = Decoder()
        self.reply: Frame | None = None


def _builds_name(document: dict[str, Any]) -> str:
    name = document.get("builds", "")
    if not isinstance(name, str) or not re.fullmatch("([0-9a-f]{32})?", name):
        raise FrameError("a request's builds have a name that is not 32 hexadecimal digits")
    return name


def _without_supervisor(shut_in: bool) -> dict[str, Any]:
    message = "the candidate's supervisor was killed while it ran"
    if shut_in:
        return {"infrastructure": message, "killed": True}
    isolation = {"namespaces": [], "landlock_abi": 0, "missing": [message]}
    return {"failure": "crashed", "message": message, "isolation": isolation, "killed": True}


class Zygote:
    """Serves requests on a connected socket until its other end closes."""

    def __init__(
        self,
        connection: socket.socket,
        operations: Mapping[str, str],
        scratch_folder: str,
        access: Access,
    ) -> None:
        self._connection = connection
        self._operations = dict(operations)
        self._scratch = scratch_folder
        self._builds = Builds(scratch_folder)
        self._access = access
        self._selector = selectors.DefaultSelector()
        self._requests = Decoder()
        self._output = bytearray()
        self._running: dict[int, _Running] = {}
        try:
            self._base = processes.own_memory()
        except OSError:
            self._base = (0, 0)
        connection.setblocking(False)

    def serve(self) -> None:
        """Runs the loop."""
        require_fork_safety()
        self._selector.register(self._connection, selectors.EVENT_READ)
        self._reply({"ready": True}, [])
        try:
            while self._step():
                continue
        finally:
            for running in self._running.values():
                running.channel.close()
            for running in self._running.values():
                self._reap(running)

    def _step(self) -> bool:
        for key, events in self._selector.select():
            if key.fileobj is not self._connection:
                self._read_report(key.data)
                continue
            if events & selectors.EVENT_WRITE:
                self._flush()
            if events & selectors.EVENT_READ and not self._read_requests():
                return False
        return True

    def _read_requests(self) -> bool:
        try:
            chunk = self._connection.recv(_CHUNK)
        except BlockingIOError:
            return True
        except ConnectionError:
            return False
        for document, blobs in self._requests.feed(chunk):
            if "cancel" in document:
                self._cancel(document["cancel"])
            elif "forget" in document:
                self._builds.forget(document["forget"])
            else:
                self._start(document, blobs)
        return bool(chunk)

    def _cancel(self, identity: int) -> None:
        running = self._running.get(identity)
        if running is not None:
            running.cancelled = True
            with contextlib.suppress(OSError):
                running.channel.shutdown(socket.SHUT_WR)

    def _start(self, document: dict[str, Any], blobs: list[bytes]) -> None:
        identity = document["id"]
        try:
            operation = self._operations[document["operation"]]
        except KeyError:
            message = f"the zygote has no operation {document.get('operation')!r}"
            self._reply({"id": identity, "infrastructure": message}, [])
            return
        try:
            request = unpack(document["request"], blobs)
            limits = Limits.parse(document["limits"])
            builds = self._builds.enter(_builds_name(document))
        except FrameError as error:
            self._reply({"id": identity, "infrastructure": str(error)}, [])
            return
        job = Job(operation, request, limits, "", builds, self._access, *self._base)
        self._fork(identity, 1, job)

    def _fork(self, identity: int, attempt: int, job: Job) -> None:
        if not confine.has_one_thread():
            raise RuntimeError("the zygote has threads, which a fork would lose")
        # Nobody can guess the name of another request's folder, or list those that there are.
        folder = str(Path(self._scratch) / secrets.token_hex(16))
        Path(folder).mkdir(mode=0o700)
        job = replace(job, scratch=folder)
        ours, theirs = socket.socketpair()
        zygote = os.getpid()
        supervisor = os.fork()
        if supervisor == 0:
            supervise.run(job, theirs.detach(), zygote)
        theirs.close()
        ours.setblocking(False)
        running = _Running(identity, attempt, job, supervisor, ours)
        self._running[identity] = running
        self._selector.register(ours, selectors.EVENT_READ, running)

    def _read_report(self, running: _Running) -> None:
        try:
            chunk = running.channel.recv(_CHUNK)
        except BlockingIOError:
            return
        except ConnectionError:
            chunk = b""
        for frame in running.decoder.feed(chunk):
            if "shut_in" in frame[0]:
                running.shut_in = frame[0]["shut_in"]
            else:
                running.reply = frame
        if chunk:
            return
        self._selector.unregister(running.channel)
        running.channel.close()
        del self._running[running.identity]
        self._reap(running)
        document, blobs = running.reply or (_without_supervisor(running.shut_in), [])
        well = not {"failure", "infrastructure"} & document.keys()
        self._builds.leave(running.job.builds, well)
        if document.pop("killed", False) and self._try_again(running):
            return
        self._reply({**document, "id": running.identity}, blobs)

    def _reap(self, running: _Running) -> None:
        """Waits for a supervisor; what it could not clear away goes now."""
        os.waitpid(running.supervisor, 0)
        if running.reply is None:
            processes.kill_descendants({other.supervisor for other in self._running.values()})
            scratch.remove(running.job.scratch)

    def _try_again(self, running: _Running) -> bool:
        """Repeats a request whose processes were killed, in the time that is left for it."""
        seconds = running.deadline - time.monotonic()
        if running.cancelled or running.attempt == _ATTEMPTS or seconds <= 0:
            return False
        limits = replace(running.job.limits, seconds=seconds)
        job = replace(running.job, limits=limits, builds="")
        self._fork(running.identity, running.attempt + 1, job)
        return True

    def _reply(self, document: dict[str, Any], blobs: list[bytes]) -> None:
        self._output += encode(document, blobs)
        self._flush()

    def _flush(self) -> None:
        try:
            while self._output:
                del self._output[: self._connection.send(self._output)]
        except BlockingIOError:
            pass
        except ConnectionError:
            self._output.clear()  # The next read tells.
        events = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._output else 0)
        self._selector.modify(self._connection, events)
