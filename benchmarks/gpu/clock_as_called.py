"""What callers in Python pay, beside what the device takes: a part of clock.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import ouroboros

KERNELS = Path(__file__).parents[2] / "tests" / "gpu" / "kernels"
JUDGED = ("softmax__row", "layernorm__row", "rmsnorm__row")
ROWS = (64, 2048)
"""Rows of 4096 elements: at the first the host is all of it, at the second most."""

Row = dict[str, Any]


def as_called(_: Mapping[str, Any]) -> Iterator[Callable[[], Row]]:
    """Judges kernels with as-called times, against eager and torch.compile."""
    for name in JUDGED:
        yield lambda name=name: {"kernel": name, **judged(name)}


def judged(name: str) -> Row:
    """Returns the times of a verdict's cells, of the device and as called, and what is noted."""
    problem = ouroboros.problems.load(name.split("__")[0])
    problem = problem.with_timed_gpu([{"rows": rows, "cols": 4096} for rows in ROWS])
    referee = ouroboros.Referee(
        mode="decide", dtypes=["float32"], baselines=["eager", "compile"], as_called=True
    )
    verdict = referee.judge(problem, KERNELS / f"{name}.py")
    return {
        "status": verdict.status.value,
        "notes": [
            [one.kind, one.evidence]
            for one in verdict.findings
            if one.kind.startswith("as_called") or one.severity != "note"
        ],
        "cells": [cell_row(cell) for cell in verdict.timing.cells],
    }


def cell_row(cell: Any) -> Row:
    """Returns a cell's times in us, each as low end, estimate and high end of its interval."""
    return {
        "axes": dict(cell.axes),
        "latency_us": ends(cell.latency_us),
        "as_called_us": ends(cell.as_called_us),
        "baselines": {
            one.name: {
                key: ends(getattr(one, key))
                for key in ("latency_us", "speedup", "as_called_us", "as_called_speedup")
            }
            for one in cell.baselines
            if one.status == "timed"
        },
    }


def ends(interval: Any) -> list[float] | None:
    """Returns an interval as a list, or None for none."""
    return None if interval is None else [interval.low, interval.estimate, interval.high]


def say_as_called(rows: Sequence[Row], _: Mapping[str, Any]) -> Row:
    """Says how many cells have as-called times, and by how much these exceed the device's."""
    cells = [cell for row in rows for cell in row["cells"]]
    measured = [cell for cell in cells if cell["as_called_us"] is not None]
    beyond = [cell["as_called_us"][1] - cell["latency_us"][1] for cell in measured]
    return {
        "summary": {
            "as_called_cells": len(cells),
            "as_called_measured": len(measured),
            "as_called_host_us_least": min(beyond, default=0.0),
            "as_called_host_us_most": max(beyond, default=0.0),
        }
    }
