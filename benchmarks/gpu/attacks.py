"""The cheats of tests/gpu/attacks: each is to be refused, or judged as its honest twin is."""

from __future__ import annotations

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ouroboros

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
ATTACKS = ROOT / "tests/gpu/attacks"
FAULTS = {
    ouroboros.Status.compile_error,
    ouroboros.Status.runtime_error,
    ouroboros.Status.incorrect,
    ouroboros.Status.rejected,
    ouroboros.Status.timeout,
}
LIMITS = {"replay_seconds": 2.0, "compile_seconds": 10.0}


def as_expected(verdict: ouroboros.Verdict, expected: dict[str, Any]) -> bool:
    """Whether status, finding and evidence are those of the table."""
    said = [verdict.summary, *(finding.evidence for finding in verdict.findings)]
    return (
        verdict.status.value in expected["status"]
        and expected["finding"] in ["", *(finding.kind for finding in verdict.findings)]
        and re.search(expected["evidence"], "\n".join(said)) is not None
    )


def measure(workers: int) -> dict[str, Any]:
    """Judges every attack and every twin."""
    catalogue = tomllib.loads((ATTACKS / "attacks.toml").read_text(encoding="utf-8"))
    # Half precision where float32 is due is no cheat where float16 is.
    referee = ouroboros.Referee(until="sweep", dtypes=["float32"], limits=LIMITS)

    def twin_of(key: tuple[str, str]) -> ouroboros.Verdict:
        problem, file = key
        return referee.judge(problem, ATTACKS / file)

    def judge(entry: dict[str, Any]) -> dict[str, Any]:
        own = entry.get("limits")
        judging = referee
        if own:
            judging = ouroboros.Referee(until="sweep", dtypes=["float32"], limits=LIMITS | own)
        verdict = judging.judge(entry["problem"], ATTACKS / entry["file"])
        twin = twins[entry["problem"], entry["twin"]]
        expected = entry.get("on_gpu", entry["expect"])
        # Refused in any way, or judged as what it is where that gains nothing.
        answered = verdict.status in FAULTS or verdict.status.value in expected["status"]
        return {
            "name": entry["name"],
            "file": entry["file"],
            "expected": expected,
            "status": verdict.status.value,
            "summary": verdict.summary,
            "answered": answered,
            "as_expected": as_expected(verdict, expected),
            "twin_status": twin.status.value,
            "twin_summary": "" if twin.status.value == "ok" else twin.summary,
        }

    entries = catalogue["attack"][:: int(os.environ.get("OUROBOROS_EVIDENCE_STRIDE", "1"))]
    keys = sorted({(entry["problem"], entry["twin"]) for entry in entries})
    with ThreadPoolExecutor(workers) as pool:
        twins = dict(zip(keys, pool.map(twin_of, keys), strict=True))
        rows = list(pool.map(judge, entries))
    answered = sum(row["answered"] for row in rows)
    as_the_table_says = sum(row["as_expected"] for row in rows)
    accepted = sum(row["twin_status"] == "ok" for row in rows)
    return {
        "summary": {
            "attacks_total": len(rows),
            "attacks_answered": answered,
            "attacks_as_expected": as_the_table_says,
            "twins_accepted": accepted,
        },
        "failed": min(answered, accepted, as_the_table_says) < len(rows),
        "attacks": rows,
    }
