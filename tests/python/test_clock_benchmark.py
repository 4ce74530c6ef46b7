"""The clock's benchmark keeps what it measured when it is cut off, and goes on from there."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "gpu"))
clock: Any = importlib.import_module("clock")

HEAD = {"commit": "abc", "gpu": "a GPU"}


def part(breaks_at: int | None = None) -> Any:
    def rows(_: Mapping[str, Any]) -> Iterator[Callable[[], dict[str, Any]]]:
        for number in range(5):
            if number == breaks_at:
                raise RuntimeError("the machine went away")
            yield lambda number=number: {"number": number}

    def say(found: Sequence[dict[str, Any]], _: Mapping[str, Any]) -> dict[str, Any]:
        return {"summary": {"total": sum(row["number"] for row in found)}, "table": len(found)}

    return clock.Part(rows, say)


def test_a_run_that_was_cut_off_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "clock.json"
    monkeypatch.setattr(clock, "WRITTEN_EACH_S", -1)
    monkeypatch.setattr(clock, "PARTS", {"one": part(breaks_at=3)})
    assert not clock.Record(path, HEAD, {}).measure("one", {})
    left = json.loads(path.read_text())
    assert left["one"]["rows"] == [{"number": number} for number in range(3)]
    assert not left["one"]["complete"]
    assert "went away" in left["one"]["error"]
    assert left["summary"] == {"total": 3}

    monkeypatch.setattr(clock, "PARTS", {"one": part(), "two": part()})
    record = clock.Record(path, HEAD, clock.earlier_record(path, HEAD))
    assert record.measure("one", {})
    assert record.measure("two", {})
    whole = json.loads(path.read_text())
    assert [row["number"] for row in whole["one"]["rows"]] == [0, 1, 2, 3, 4]
    assert whole["one"]["complete"] and "error" not in whole["one"]
    assert whole["two"]["table"] == 5
    assert whole["summary"] == {"total": 10}
    assert whole["commit"] == "abc"


def test_rows_are_written_while_they_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "clock.json"
    seen = []

    def rows(_: Mapping[str, Any]) -> Iterator[Callable[[], dict[str, Any]]]:
        for number in range(3):
            yield lambda: {"number": 1}
            seen.append(len(json.loads(path.read_text())["one"]["rows"]) if number else 0)

    monkeypatch.setattr(clock, "WRITTEN_EACH_S", -1)
    monkeypatch.setattr(clock, "PARTS", {"one": clock.Part(rows, part().say)})
    assert clock.Record(path, HEAD, {}).measure("one", {})
    assert seen == [0, 2, 3]


def test_another_commit_is_not_gone_on_from(tmp_path: Path) -> None:
    path = tmp_path / "clock.json"
    path.write_text(json.dumps({**HEAD, "commit": "old", "summary": {}}))
    with pytest.raises(SystemExit, match="another commit"):
        clock.earlier_record(path, HEAD)
    assert clock.earlier_record(None, HEAD) == {}
    assert clock.earlier_record(tmp_path / "none.json", HEAD) == {}


def test_a_memo_that_gains_and_is_not_found_is_wrong() -> None:
    def row(status: str, high: float, *findings: list[str]) -> dict[str, Any]:
        return {"status": status, "speedup": [1.0, 1.0, high], "findings": list(findings)}

    cheat = ["remembers_inputs", "cheat", "5 % quicker"]
    note = ["remembers_inputs", "note", "1 % quicker"]
    rows = [
        row("rejected", 1.4, cheat),
        row("ok", 1.001),
        row("ok", 1.2),
        row("ok", 1.2, note),
        {"status": "rejected", "findings": [["device_heap", "cheat", "malloc"]]},
    ]
    assert clock.PARTS["memos"].say(rows, {})["summary"] == {
        "memo_runs": 5,
        "memo_found": 1,
        "memo_worth_nothing": 1,
        "memo_refused_otherwise": 1,
        "memo_wrong": 2,
    }
