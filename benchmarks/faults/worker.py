"""A referee's process: judges what it is told on standard input, some at a time.

    python worker.py THREADS LIMITS

A line is {"id", "candidate"}, and so is the answer, with what the verdict said. {"census": true} is
answered with what this process holds. {"descriptors": 4} leaves it so many,
{"address_space_mib": 64} so much room.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from candidates import LARGE, MIX, judge

_writing = threading.Lock()
_known = {known.name: known for known in (*MIX, LARGE)}


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
        verdict = judge(_known[request["candidate"]], limits)
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
    for path in Path("/proc/self/fd").iterdir():
        try:
            target = str(path.readlink())
        except OSError:
            continue  # The listing's own.
        kind = target.split(":")[0] if not target.startswith("/") else target.split(" (")[0]
        kind = re.sub(r"/ouroboros-\w{6}$", "/a scratch folder", kind)  # Their names are random.
        kinds[kind] = kinds.get(kind, 0) + 1
    return {"descriptors": kinds, "threads": len(list(Path("/proc/self/task").iterdir()))}


def leave_descriptors(count: int) -> None:
    """Limits this process, and what it starts, to `count` descriptors more than it has now."""
    highest = max(int(path.name) for path in Path("/proc/self/fd").iterdir())
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1, hard))
    while True:  # Of the numbers below the limit none stays free.
        try:
            os.open("/dev/null", os.O_RDONLY)
        except OSError:
            break
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1 + count, hard))


def leave_address_space(mib: int) -> None:
    """Limits this process, and what it starts, to what it has and so much more."""
    (size,) = re.findall(r"VmSize:\s+(\d+) kB", Path("/proc/self/status").read_text())
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, ((int(size) << 10) + (mib << 20), hard))


def main() -> None:
    """Serves until standard input ends."""
    threads, limits = int(sys.argv[1]), json.loads(sys.argv[2])
    with ThreadPoolExecutor(threads) as pool:
        # The pool starts threads as it needs them: all of them, before any are counted.
        together = threading.Barrier(threads)
        list(pool.map(lambda _: together.wait(), range(threads)))
        for line in sys.stdin:
            request = json.loads(line)
            if "census" in request:
                say({"census": census()})
            elif "descriptors" in request:
                leave_descriptors(request["descriptors"])
            elif "address_space_mib" in request:
                leave_address_space(request["address_space_mib"])
            else:
                pool.submit(answer, request, limits)


if __name__ == "__main__":
    main()
