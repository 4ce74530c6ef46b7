"""Traces in forked children, one a line of standard input: what the tests of the dry trace talk to.

A trace makes its process pretend to have CUDA, so it never runs in the process of a test.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import tempfile
from pathlib import Path

from ouroboros.trace import dry


def child(request: dict) -> str:
    try:
        with tempfile.TemporaryDirectory() as scratch:
            outcomes = dry.trace({"scratch": scratch, **request})
        for outcome in outcomes:
            outcome["sources"] = [text.decode() for text in outcome["sources"]]
            outcome["variants"] = [base64.b64encode(plan).decode() for plan in outcome["variants"]]
        return json.dumps(outcomes)
    except BaseException as error:
        return json.dumps({"error": f"{type(error).__name__}: {error}"})


def main() -> None:
    dry.warm(sys.argv[1])
    print(json.dumps({"threads": len(list(Path("/proc/self/task").iterdir()))}), flush=True)
    for line in sys.stdin:
        if os.fork() == 0:
            print(child(json.loads(line)), flush=True)
            os._exit(0)
        os.wait()


if __name__ == "__main__":
    main()
