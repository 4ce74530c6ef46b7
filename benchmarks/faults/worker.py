"""A referee's process: judges what it is told on standard input, some at a time.

    python worker.py THREADS LIMITS

A line is {"id", "candidate", ["scratch"]}, and so is the answer, with what the verdict said. The
line {"census": true} is answered with what this process holds.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from candidates import MIX, judge

_writing = threading.Lock()
_known = {known.name: known for known in MIX}


def say(document: dict[str, Any]) -> None:
    """Answers with one line."""
    with _writing:
        sys.stdout.write(json.dumps(document) + "\n")
        sys.stdout.flush()


def answer(request: dict[str, Any], limits: dict[str, float]) -> None:
    """Judges, and says what came out, an exception too."""
    began = time.monotonic()
    said: dict[str, Any] = {"id": request["id"], "began": began}
    say({"id": request["id"], "started": True})
    try:
        verdict = judge(_known[request["candidate"]], limits, request.get("scratch", ""))
        said.update(
            status=verdict.status.value,
            blames_candidate=verdict.status.is_candidate_fault,
            summary=verdict.summary,
            findings=[[one.kind, one.severity, one.stage, one.evidence]
                      for one in verdict.findings],
            isolation=verdict.isolation.model_dump(mode="json"),
        )  # fmt: skip
    except BaseException as error:
        said.update(status="exception", summary=f"{type(error).__name__}: {error}", findings=[])
    say({**said, "ended": time.monotonic()})


def census() -> dict[str, Any]:
    """What this process holds: descriptors by kind, threads."""
    kinds: dict[str, int] = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue  # The listing's own.
        kind = target.split(":")[0] if not target.startswith("/") else target.split(" (")[0]
        kinds[kind] = kinds.get(kind, 0) + 1
    return {"descriptors": kinds, "threads": len(os.listdir("/proc/self/task"))}


def main() -> None:
    """Serves until standard input ends."""
    threads, limits = int(sys.argv[1]), json.loads(sys.argv[2])
    with ThreadPoolExecutor(threads) as pool:
        for line in sys.stdin:
            request = json.loads(line)
            if "census" in request:
                say({"census": census()})
            else:
                pool.submit(answer, request, limits)


if __name__ == "__main__":
    main()
