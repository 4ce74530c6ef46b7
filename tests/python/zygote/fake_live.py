"""A live trace without a GPU: what a dry trace makes of a source, said to be captured.

Lines of the source that begin with `# live:` say what else happens.
"""

from __future__ import annotations

import json
import os
import re
from typing import Any

from ouroboros.trace import dry
from ouroboros.trace.plan_file import write_plan

PLAN_HEADER = 16


def prepare() -> None:
    """A machine without a GPU is told from one by a variable."""
    if reason := os.environ.get("OUROBOROS_FAKE_LIVE_UNAVAILABLE"):
        raise OSError(reason)


def capture(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Stands for `ouroboros.trace.live.capture_source`."""
    source = request["source"]
    words = dict(re.findall(r"^# live: (\w+) ?(.*)$", source, re.MULTILINE))
    if "run" in words:
        exec(words["run"], {})
    if "refuse" in words:
        refusal = {"kind": words["refuse"], "op": "", "message": "It did.", "traceback": ""}
        return [
            {"variants": [], "refusal": refusal, "log": "", "seconds": 0.1}
            for _ in request["signatures"]
        ]
    # What a live trace can follow and a dry one cannot.
    followed = source.replace("x = x + 0", "pass").replace("import nothing_dry", "")
    results = dry.trace({**request, "source": followed})
    for result in results:
        result["variants"] = [
            captured(plan, request["language"], words.get("origin", "candidate"))
            for plan in result["variants"]
        ]
    return results
