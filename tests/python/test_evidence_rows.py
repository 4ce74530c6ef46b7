"""Rows of a run on a GPU that was cut off: the next run takes them up, and only its own."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "benchmarks/gpu"))

from kept_rows import KeptRows


def test_the_next_run_takes_up_what_the_last_one_kept(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    KeptRows(path, "aaa").add("honest", "softmax__row.py", {"status": "ok"})
    again = KeptRows(path, "aaa")
    again.add("attacks", "forged_clock", {"status": "cheated"})
    assert KeptRows(path, "aaa").of("honest") == {"softmax__row.py": {"status": "ok"}}
    assert KeptRows(path, "aaa").of("attacks") == {"forged_clock": {"status": "cheated"}}


def test_rows_of_another_commit_are_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    KeptRows(path, "aaa").add("honest", "softmax__row.py", {"status": "ok"})
    assert KeptRows(path, "bbb").of("honest") == {}


def test_a_line_that_was_cut_off_costs_its_row_alone(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = KeptRows(path, "aaa")
    rows.add("honest", "one.py", {"status": "ok"})
    rows.add("honest", "two.py", {"status": "ok"})
    path.write_text(path.read_text()[:-10])
    assert list(KeptRows(path, "aaa").of("honest")) == ["one.py"]
    KeptRows(path, "aaa").add("honest", "three.py", {"status": "ok"})
    assert list(KeptRows(path, "aaa").of("honest")) == ["one.py", "three.py"]


def test_without_a_file_rows_are_kept_in_memory_alone() -> None:
    rows = KeptRows(None, "")
    rows.add("honest", "one.py", {"status": "ok"})
    assert list(rows.of("honest")) == ["one.py"]
