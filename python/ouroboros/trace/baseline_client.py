"""Baselines for a problem on this machine's GPU: from the store, or from the worker.

A baseline that cannot be had is unavailable, with the reason. That is never a candidate's fault.
"""

from __future__ import annotations

import base64
import json
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

import cloudpickle

from ouroboros._ouroboros import own_process

__all__ = ["BaselinePlan", "BaselineWorker", "Unavailable", "problem_document"]

_CHUNK = 1 << 20
_LONGEST_LINE = 1 << 20


@dataclass(frozen=True)
class BaselinePlan:
    """A baseline's plan, and what traced it."""

    plan: bytes
    seconds: float
    torch: str
    triton: str
    driver: int
    gpu: str


@dataclass(frozen=True)
class Unavailable:
    """Why there is no plan: one sentence."""

    reason: str


class _FailedError(Exception):
    """The worker died, or did not answer in time."""


def problem_document(origin: str, reference: object) -> dict[str, str]:
    """Returns how a request names a problem: by its origin, or with the pickled reference.

    A function of a notebook or of a script travels by value, with the globals that it uses.

    Raises:
        ValueError: The reference holds on to something that cannot be sent to another process.
    """
    if origin.startswith(("builtin:", "file:")):
        return {"origin": origin}
    try:
        return {"pickle": base64.b64encode(cloudpickle.dumps(reference)).decode()}
    except Exception as error:
        raise ValueError(
            f"the reference cannot be sent to another process ({error}); define it in a file"
        ) from error


class BaselineWorker:
    """The worker process, started when it is first needed and again after it failed.

    Args:
        command: What to start, by default the worker of this Python.
        timeout_seconds: For one answer, compiling and tuning included.
    """

    def __init__(
        self, command: Sequence[str] | None = None, timeout_seconds: float = 600.0
    ) -> None:
        self._command = list(command or (sys.executable, "-m", "ouroboros.trace.baseline_worker"))
        self._timeout = timeout_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._rest = b""
        self._lock = threading.Lock()

    def trace(
        self,
        problem: Mapping[str, str],
        inputs: Sequence[Mapping[str, Any]],
        outputs: Sequence[str],
        kind: str,
        seed: int = 0,
    ) -> BaselinePlan | Unavailable:
        """Returns the plan of a baseline: "eager", "compile" or "max-autotune"."""
        request = {
            "problem": dict(problem),
            "inputs": [dict(one) for one in inputs],
            "outputs": list(outputs),
            "kind": kind,
            "seed": seed,
        }
        with self._lock:
            try:
                return self._exchange(json.dumps(request).encode() + b"\n")
            except (_FailedError, OSError) as error:
                self._stop()
                return Unavailable(f"The baseline worker failed: {error}")

    def describe(self) -> dict[str, Any] | Unavailable:
        """Returns what plans depend on besides the problem: "gpu", "driver", "torch", "triton"."""
        with self._lock:
            try:
                found = self._exchange(b'{"kind":"describe"}\n')
            except (_FailedError, OSError) as error:
                self._stop()
                return Unavailable(f"The baseline worker failed: {error}")
        if isinstance(found, Unavailable):
            return found
        return {key: getattr(found, key) for key in ("gpu", "driver", "torch", "triton")}

    def close(self) -> None:
        """Ends the process; the next request starts another."""
        with self._lock:
            self._stop()

    def __enter__(self) -> BaselineWorker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _exchange(self, request: bytes) -> BaselinePlan | Unavailable:
        process = self._running()
        assert process.stdin is not None and process.stdout is not None
        deadline = time.monotonic() + self._timeout
        process.stdin.write(request)
        process.stdin.flush()
        while b"\n" not in self._rest:
            if len(self._rest) > _LONGEST_LINE:
                raise _FailedError("it wrote something that is no answer")
            self._receive(process.stdout, deadline)
        line, _, self._rest = self._rest.partition(b"\n")
        try:
            document = json.loads(line)
            if "unavailable" in document:
                return Unavailable(str(document["unavailable"]))
            size = int(document["plan_bytes"])
            found = {key: document[key] for key in ("seconds", "torch", "triton", "driver", "gpu")}
        except (ValueError, KeyError, TypeError) as error:
            raise _FailedError("it wrote something that is no answer") from error
        parts = bytearray(self._rest)
        while len(parts) < size:
            self._rest = b""
            self._receive(process.stdout, deadline)
            parts += self._rest
        self._rest = bytes(parts[size:])
        return BaselinePlan(plan=bytes(parts[:size]), **found)

    def _receive(self, stream: IO[bytes], deadline: float) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(stream, selectors.EVENT_READ)
            if not selector.select(max(0.0, deadline - time.monotonic())):
                raise _FailedError(f"it did not answer within {self._timeout:g} seconds")
        # The stream is unbuffered: a read gives what there is.
        data = stream.read(_CHUNK)
        if not data:
            raise _FailedError("its process ended")
        self._rest += data

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._stop()
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
            )
            own_process(self._process.pid, True)
        return self._process

    def _stop(self) -> None:
        process, self._process, self._rest = self._process, None, b""
        if process is None:
            return
        process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        process.wait()
        own_process(process.pid, False)
