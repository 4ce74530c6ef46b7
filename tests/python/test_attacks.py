"""Every cheat in tests/attacks is answered, and every honest twin is accepted."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ouroboros
import pytest
from ouroboros.referee import Stage

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).resolve().parents[1] / "attacks"
TABLE: list[dict[str, Any]] = tomllib.loads((FOLDER / "attacks.toml").read_text())["attack"]
STATUSES = {"ok", "compile_error", "runtime_error", "incorrect", "rejected", "timeout"}

Job = tuple[str, str]  # (name of the row, "file" or "twin")


@functools.cache
def referee(until: Stage, limits: tuple[tuple[str, float], ...]) -> ouroboros.Referee:
    """One referee for all rows with the same options; it may judge from many threads at once."""
    return ouroboros.Referee(
        until=until,
        dtypes=["float32"],
        baselines=["eager"],
        limits=dict(limits),
        timing={"looks": [16], "budget_seconds": 3.0},
    )


def judge(row: dict[str, Any], which: str) -> ouroboros.Verdict:
    """The verdict on one file of a row. Only cheats get tighter limits."""
    limits = tuple(row.get("limits", {}).items()) if which == "file" else ()
    return referee(row.get("until", "sweep"), limits).judge(row["problem"], FOLDER / row[which])


@pytest.fixture(scope="module")
def verdicts(request: pytest.FixtureRequest) -> Iterator[dict[Job, Future[ouroboros.Verdict]]]:
    """Futures of the verdicts that the selected tests need, computed on all processors."""
    rows = {row["name"]: row for row in TABLE}
    jobs = [
        item.callspec.params["job"]
        for item in request.session.items
        if isinstance(item, pytest.Function)
        and item.module is request.module
        and hasattr(item, "callspec")
    ]
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        futures = {job: pool.submit(judge, rows[job[0]], job[1]) for job in jobs}
        yield futures
        for future in futures.values():
            future.cancel()


def said(verdict: ouroboros.Verdict) -> str:
    """Everything that the verdict says in words."""
    findings = [f"{finding.kind}: {finding.evidence}" for finding in verdict.findings]
    messages = [case.message for case in verdict.correctness.cases if case.message]
    return "\n".join([verdict.summary, *findings, *messages])


@pytest.mark.parametrize("job", [(row["name"], "file") for row in TABLE], ids=lambda job: job[0])
def test_attack_is_answered(job: Job, verdicts: dict[Job, Future[ouroboros.Verdict]]) -> None:
    row = next(row for row in TABLE if row["name"] == job[0])
    expect = row["expect"]
    verdict = verdicts[job].result()
    assert str(verdict.status) in expect["status"], said(verdict)
    if expect["finding"]:
        assert expect["finding"] in [finding.kind for finding in verdict.findings], said(verdict)
    assert re.search(expect["evidence"], said(verdict)), said(verdict)


@pytest.mark.parametrize("job", [(row["name"], "twin") for row in TABLE], ids=lambda job: job[0])
def test_twin_is_accepted(job: Job, verdicts: dict[Job, Future[ouroboros.Verdict]]) -> None:
    verdict = verdicts[job].result()
    assert str(verdict.status) == "ok", said(verdict)
    assert not [f for f in verdict.findings if f.severity != "note"], said(verdict)
    assert verdict.correctness.cases_passed == verdict.correctness.cases_total > 0


def test_every_file_is_in_the_table() -> None:
    listed = sorted(row[which] for row in TABLE for which in ("file", "twin"))
    assert listed == sorted(path.name for path in FOLDER.glob("*.cpp"))


def test_table_is_sound() -> None:
    assert len({row["name"] for row in TABLE}) == len(TABLE) >= 30
    for row in TABLE:
        assert row["file"] == f"{row['name']}.cpp"
        assert row["twin"] == f"{row['name']}.twin.cpp"
        assert row["rows"], row["name"]
        assert set(row["expect"]["status"]) <= STATUSES, row["name"]
        assert row.get("until", "sweep") in ("sweep", "time"), row["name"]
        re.compile(row["expect"]["evidence"])


def test_six_attacks_are_for_the_demo() -> None:
    assert len([row for row in TABLE if row.get("demo")]) == 6


def test_headers_name_the_rows() -> None:
    for row in TABLE:
        text = (FOLDER / row["file"]).read_text()
        assert text.startswith(f"// Attack: {row['name']}\n"), row["name"]
        comment = " ".join(line.removeprefix("//").strip() for line in text.splitlines())
        assert f"Threats: {', '.join(row['rows'])}" in comment, row["name"]
        twin = (FOLDER / row["twin"]).read_text()
        assert twin.startswith(f"// Honest twin of {row['name']}.\n"), row["name"]
