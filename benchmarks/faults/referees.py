"""Referees in processes of their own, which judge while a killer is about."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from processes import below

__all__ = ["Census", "Referee", "on_fake_gpu"]

FOLDER = Path(__file__).resolve().parent
_END_SECONDS = 30

# Other programs use /dev/shm too: root's referees get one of their own.
_OWN_SHARED_MEMORY = ("unshare", "--mount", "sh", "-c",
                      'mount -t tmpfs tmpfs /dev/shm && exec "$@"', "sh")  # fmt: skip


@dataclass(frozen=True)
class Census:
    """What a referee that judges nothing holds."""

    processes: dict[str, int]
    descriptors: dict[str, int]
    threads: int
    files: dict[str, int]  #: In its folder for temporary files, and in its caches.
    shared_memory: int  #: Entries of /dev/shm.


@dataclass
class Referee:
    """One worker (worker.py) with folders of its own."""

    name: str
    threads: int
    limits: dict[str, float]
    environment: dict[str, str] = field(default_factory=dict)
    prefix: tuple[str, ...] = ()  #: What starts it, e.g. a program that sets limits.
    folder: Path = field(init=False)

    def __post_init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"ouroboros-faults-{self.name}-"))
        home = {"TMPDIR": "tmp", "XDG_CACHE_HOME": "cache", "HOME": "home"}
        for name in home.values():
            (self.folder / name).mkdir()
        self.answers: queue.Queue[dict[str, Any]] = queue.Queue()
        self._errors = (self.folder / "stderr").open("wb")
        self.process = subprocess.Popen(
            [*(_OWN_SHARED_MEMORY if os.geteuid() == 0 else ()), *self.prefix,
             sys.executable, str(FOLDER / "worker.py"), str(self.threads), json.dumps(self.limits)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, text=True,
            # LibTorch's threads grow with the threads that call it: without, one more is a leak.
            env={**os.environ, "OMP_NUM_THREADS": "1",
                 **{key: str(self.folder / name) for key, name in home.items()},
                 **self.environment},
        )  # fmt: skip
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            document = json.loads(line)
            document["heard"] = time.monotonic()
            self.answers.put(document)
        self.answers.put({"over": True})

    def answer(self, seconds: float = 300) -> dict[str, Any]:
        """Waits for what a verdict said. Raises `queue.Empty`, and `RuntimeError` at its end."""
        while "status" not in (said := self.answers.get(timeout=seconds)):
            if "over" in said:
                self.answers.put(said)
                raise RuntimeError(f"the referee {self.name} has ended")
        return said

    def ask(self, document: dict[str, Any]) -> None:
        """Sends one line."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(document) + "\n")
        self.process.stdin.flush()

    def census(self) -> Census:
        """Counts, when nothing is being judged."""
        self.ask({"census": True})
        document = self.answers.get(timeout=60)
        processes: dict[str, int] = {}
        for one in below(self.process.pid):
            processes[one.kind] = processes.get(one.kind, 0) + 1
        return Census(
            processes=processes,
            descriptors=document["census"]["descriptors"],
            threads=document["census"]["threads"],
            files={name: sum(1 for _ in (self.folder / name).rglob("*"))
                   for name in ("tmp", "cache", "home")},
            shared_memory=len(list(Path(f"/proc/{self.process.pid}/root/dev/shm").iterdir())),
        )  # fmt: skip

    def close(self) -> int | None:
        """Ends it; returns its exit status, None where it had to be killed."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        try:
            status: int | None = self.process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            status = None
        self._reader.join()
        self._errors.close()
        return status

    def left_files(self) -> list[str]:
        """Temporary files that are there when the process is gone."""
        return sorted(
            str(path.relative_to(self.folder)) for path in (self.folder / "tmp").rglob("*")
        )


@contextlib.contextmanager
def on_fake_gpu(
    driver: Path, limits: dict[str, float], prefix: tuple[str, ...] = (), **environment: str
) -> Iterator[Referee]:
    """Gives a referee of one thread whose GPU is the fake driver's; its folder goes with it."""
    referee = Referee("gpu", 1, limits, {"OUROBOROS_LIBCUDA": str(driver), **environment}, prefix)
    try:
        yield referee
    finally:
        referee.close()
        shutil.rmtree(referee.folder, ignore_errors=True)
