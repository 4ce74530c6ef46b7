"""Every cheat of both catalogues, as far as a machine without a GPU can judge it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ouroboros
from ouroboros.selftest import Attack, load_attacks, run_attack

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["GPU", "described", "judge_all", "rows", "tasks"]

ROOT = Path(__file__).resolve().parents[2]
HOST, GPU = ROOT / "tests/attacks", ROOT / "tests/gpu/attacks"
TARGET = "sm_90"
# Interpreting takes seconds, for which a busy machine needs longer.
PATIENCE = {"compile_seconds": 300.0}
INTERPRETED = ("triton", "python")

Row = dict[str, Any]


def rows(folder: Path) -> list[Row]:
    """Returns the rows of one of the two catalogues, as its attacks.toml has them."""
    found: list[Row] = tomllib.loads((folder / "attacks.toml").read_text())["attack"]
    return found


def described(folder: Path, row: Row) -> Row:
    """Returns what a row says of itself, for a result file."""
    return {
        "row": row["name"],
        "threats": row["rows"],
        "own": row.get("origin") == "own",
        "home": str((folder / row["file"]).relative_to(ROOT)),
        "tries": row["tries"],
    }


def _said(verdict: ouroboros.Verdict) -> Row:
    first = verdict.findings[0] if verdict.findings else None
    return {
        "verdict": verdict.status.value,
        "finding": first.kind if first else "",
        "evidence": first.evidence[:300] if first else verdict.summary[:300],
    }


def _host(row: Row, attack: Attack) -> Row:
    result = run_attack(attack)
    return {
        **described(HOST, row),
        **_said(result.verdict),
        "answered": result.attack_passed,
        "twin_accepted": result.twin_passed,
    }


def _gpu(row: Row) -> Row:
    """Judges to the end what an interpreter can run, and the rest as far as it is compiled."""
    swept = row["language"] in INTERPRETED and row["answered"] not in ("trace", "compile", "audit")
    referee = ouroboros.Referee(
        until="sweep" if swept else row.get("until", "compile"),
        target=TARGET,
        dtypes=["float32"],
        limits=row.get("limits", {}) if not swept else PATIENCE,
        seed=1,
    )
    verdict = referee.judge(row["problem"], GPU / row["file"])
    expected = verdict.status.value in row["expect"]["status"]
    # Accepted, or not judged, for want of a GPU: no answer, and no wrong one either.
    open_here = verdict.status.value in ("ok", "infrastructure_error") and not expected
    needs_gpu = open_here and row["answered"] == "replay" and "hole" not in row
    return {
        **described(GPU, row),
        **_said(verdict),
        "answered": expected or verdict.status.is_candidate_fault,
        "needs_gpu": needs_gpu,
        "hole": row.get("hole", ""),
    }


def tasks(only: list[str]) -> dict[str, Callable[[], Row]]:
    """Returns what judges each row, by its home and name."""
    attacks = {one.name: one for one in load_attacks(HOST)}
    found: dict[str, Callable[[], Row]] = {}
    for row in rows(HOST):
        found[_key(HOST, row)] = lambda row=row: _host(row, attacks[row["name"]])
    for row in rows(GPU):
        found[_key(GPU, row)] = lambda row=row: _gpu(row)
    return {
        key: judge
        for key, judge in found.items()
        if not only or any(part in key.rpartition("/")[2] for part in only)
    }


def _key(folder: Path, row: Row) -> str:
    return f"{folder.relative_to(ROOT)}/{row['name']}"


def judge_all(left: dict[str, Callable[[], Row]], keep: Callable[[str, Row], None]) -> None:
    """Judges rows side by side; `keep` gets each as it comes."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        futures = {key: pool.submit(judge) for key, judge in left.items()}
        for key, future in futures.items():
            keep(key, future.result())
