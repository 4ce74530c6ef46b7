"""What a memo of its inputs is worth to a kernel, by where it keeps it: a part of clock.py."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import ouroboros

sys.path.append(str(Path(__file__).parents[2] / "tests" / "gpu"))
from memos import PLACES, double, source

RUNS = 3
WORTH_LESS_THAN = 1.05
"""A memo that is not found gains nothing if the whole interval lies below."""

Row = dict[str, Any]


def memos(_: Mapping[str, Any]) -> Iterator[Callable[[], Row]]:
    """Compares kernels that keep a memo with the same kernel without one."""
    for _run in range(RUNS):
        for place in PLACES:
            yield lambda place=place: {"place": place, **compared(place)}


def compared(place: str) -> Row:
    """Returns what a comparison says of the memo: the findings, and both intervals."""
    memo, honest = source(**PLACES[place]).encode(), source().encode()
    verdict = ouroboros.Referee(mode="report").compare(double, memo, honest)
    row: Row = {
        "status": verdict.status.value,
        "findings": [[one.kind, one.severity, one.evidence] for one in verdict.findings],
    }
    for cell in verdict.timing.cells:
        for baseline in cell.baselines:
            if baseline.status == "timed":
                for key in ("speedup", "memory"):
                    interval = getattr(baseline, key)
                    row[key] = [interval.low, interval.estimate, interval.high]
                row["blocks"] = baseline.blocks
                row["flags"] = list(cell.flags)
    return row


def accused(row: Row) -> bool:
    """Whether the verdict says that the kernel remembers, and calls it a cheat."""
    return any(kind == "remembers_inputs" and how == "cheat" for kind, how, _ in row["findings"])


def gains_nothing(row: Row) -> bool:
    """Whether all of the ratio's interval is next to 1, or below."""
    return "speedup" in row and bool(row["speedup"][2] < WORTH_LESS_THAN)


def say_memos(rows: Sequence[Row], _: Mapping[str, Any]) -> Row:
    """Wrong is a memo that is accepted and may have gained something."""
    found = [row for row in rows if accused(row)]
    rest = [row for row in rows if not accused(row)]
    refused = [row for row in rest if row["status"] != "ok"]
    nothing = [row for row in rest if row["status"] == "ok" and gains_nothing(row)]
    return {
        "summary": {
            "memo_runs": len(rows),
            "memo_found": len(found),
            "memo_worth_nothing": len(nothing),
            "memo_refused_otherwise": len(refused),
            "memo_wrong": len(rows) - len(found) - len(nothing) - len(refused),
        }
    }
