"""A live trace without a GPU: what a dry trace makes of a source, said to be captured.

Lines of the source that begin with `# live:` say what else happens.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from ouroboros.trace import dry
from ouroboros.trace.plan_file import read_plan, write_plan


def prepare() -> None:
    """Complains where a test wants a machine on which there is no live trace."""
    if reason := os.environ.get("OUROBOROS_FAKE_LIVE_UNFIT"):
        raise OSError(reason)


def capture_source(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Stands for `ouroboros.trace.live.capture_source`."""
    words = dict(re.findall(r"^# live: (\w+) ?(.*)$", request["source"], re.MULTILINE))
    if "run" in words:
        exec(words["run"], {})
    results = []
    if "builds" in words and not _is_built(request):
        words["refuse"] = "failed"
    message = "It did so."
    if "crowded" in words and not _was_here(request):
        words["refuse"] = "failed"
        message = "It failed with RuntimeError: cuMemCreate failed: CUDA_ERROR_OUT_OF_MEMORY."
    if "refuse" in words:
        refusal = {"kind": words["refuse"], "op": "", "message": message, "traceback": ""}
        for _ in request["signatures"]:
            results.append({"variants": [], "refusal": refusal, "log": "", "seconds": 0.1})
        return results
    # This is what only a live trace can follow.
    source = request["source"].replace("x = x + 0", "pass")
    for result in dry.trace({**request, "source": source}):
        plans = [
            _captured(plan, request["language"], words.get("origin", "candidate"))
            for plan in result["variants"]
        ]
        results.append({**result, "variants": plans})
    return results


def _is_built(request: dict[str, Any]) -> bool:
    """Builds what a candidate with extensions does: in the first process, which has one shape."""
    built = Path(request["builds"], "built")
    if len(request["signatures"]) == 1:
        built.touch()
    return built.exists()


def _was_here(request: dict[str, Any]) -> bool:
    """Whether a process of the candidate has been here: others have gone meanwhile."""
    mark = Path(request["builds"], "was_here")
    was_here = mark.exists()
    mark.touch()
    return was_here


def _captured(plan: bytes, language: str, origin: str) -> bytes:
    document, images = read_plan(plan)
    document |= {"origin": "live_trace", "language": language}
    for module in document["modules"]:
        module["origin"] = origin
    del document["images"]
    return write_plan(document, images)
