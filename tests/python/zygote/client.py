"""Talks to a zygote as the library does, so that its Python side can be tested alone."""

from __future__ import annotations

import re
import socket
import subprocess
import tempfile
from pathlib import Path

import ouroboros
from ouroboros.trace.zygote import command_line
from ouroboros.trace.zygote.frames import Decoder, encode, pack

HELPER = Path(ouroboros.__file__).parent / "libexec" / "ouroboros" / "ouroboros-sandbox"
SYSTEM = ["/usr", "/lib", "/lib64", "/bin", "/etc/ld.so.cache", "/dev/null", "/dev/urandom",
          "/proc/cpuinfo", "/proc/meminfo", "/sys/devices/system/cpu"]  # fmt: skip


class Client:
    """One zygote in its sandbox, or in none."""

    def __init__(self, *arguments: str, sandbox: bool = True) -> None:
        line = command_line()
        # Goes with this object, also where a zygote does not become ready.
        self._folder = tempfile.TemporaryDirectory(prefix="ouroboros-test-")
        self.folder = self._folder.name
        self._socket, theirs = socket.socketpair()
        report, report_end = socket.socketpair()
        read = [*SYSTEM, *line.readable]
        inner = [*line.command, *arguments, "--socket", "4", "--scratch", self.folder]
        for path in read:
            inner += ["--read", path]
        command = inner
        if sandbox:
            command = [str(HELPER), "--report", "3", "--pid-namespace"]
            for path in [*read, "/proc"]:
                command += ["--read", path]
            command += ["--write", self.folder, "--write", "/dev/null", "--", *inner]
        environment = dict(line.environment, PATH="/usr/bin:/bin", HOME=self.folder,
                           TMPDIR=self.folder, OMP_NUM_THREADS="1")  # fmt: skip
        # Two moves at once: the sources may be the targets.
        move = f"exec 9<&{report_end.fileno()} 8<&{theirs.fileno()} 3<&9 4<&8 9<&- 8<&-; "
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", move + 'exec "$@"', "bash", *command], env=environment,
            cwd=self.folder, pass_fds=[report_end.fileno(), theirs.fileno()],
        )  # fmt: skip
        report.sendall(b"g")
        report_end.close()
        theirs.close()
        self._report = report
        self._decoder = Decoder()
        self._serial = 0
        self.replies: dict[int, tuple[dict, list[bytes]]] = {}
        ready, _ = self._receive()
        assert ready == {"ready": True}

    def close(self) -> None:
        self._socket.close()
        self._report.close()
        try:
            self.process.wait(10)
        finally:
            self.process.kill()
            self.process.wait()
        assert self.requests() == []
        self._folder.cleanup()

    def requests(self) -> list[str]:
        """The scratch folders of requests; the zygote's own files have no such names."""
        names = [path.name for path in Path(self.folder).iterdir()]
        return [name for name in names if re.fullmatch("[0-9a-f]{32}", name)]

    def send(self, source: str, limits: dict | None = None, **request) -> int:
        self._serial += 1
        blobs: list[bytes] = []
        body = pack({"source": source, "target": "sm_90", **request}, blobs)
        document = {"id": self._serial, "operation": "trace", "request": body}
        self._socket.sendall(encode({**document, "limits": limits or {}}, blobs))
        return self._serial

    def wait(self, identity: int) -> tuple[dict, list[bytes]]:
        while identity not in self.replies:
            document, blobs = self._receive()
            self.replies[document.pop("id")] = document, blobs
        return self.replies.pop(identity)

    def call(self, source: str, limits: dict | None = None, **request) -> tuple[dict, list[bytes]]:
        return self.wait(self.send(source, limits, **request))

    def _receive(self) -> tuple[dict, list[bytes]]:
        while True:
            chunk = self._socket.recv(1 << 20)
            if not chunk:
                raise EOFError("the zygote has ended")
            if frames := self._decoder.feed(chunk):
                (frame,) = frames[:1]
                for document, blobs in frames[1:]:
                    self.replies[document.pop("id")] = document, blobs
                return frame
