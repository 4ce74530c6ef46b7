"""Rows of a measurement, kept as they come: a machine may go away half-way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class KeptRows:
    """A file with one JSON line for each row: what was measured, and for which commit.

    Args:
        path: The file. Rows are added to those that it has. None: they are kept in memory alone.
        commit: What is measured. Rows of another commit are not used.
    """

    def __init__(self, path: Path | None, commit: str) -> None:
        self._path = path
        self._commit = commit
        self._rows: dict[tuple[str, str], dict[str, Any]] = {}
        if path and path.exists():
            text = path.read_text(encoding="utf-8")
            for line in text.splitlines():
                self._take(line)
            if not text.endswith("\n"):  # The earlier run was cut off within a line.
                path.write_text(text + "\n", encoding="utf-8")

    def _take(self, line: str) -> None:
        try:
            one = json.loads(line)
        except json.JSONDecodeError:
            return
        if one["commit"] == self._commit:
            self._rows[one["part"], one["name"]] = one["row"]

    def of(self, part: str) -> dict[str, dict[str, Any]]:
        """Returns the rows of a part, by name."""
        return {name: row for (of, name), row in self._rows.items() if of == part}

    def add(self, part: str, name: str, row: dict[str, Any]) -> None:
        """Keeps a row. One thread at a time."""
        self._rows[part, name] = row
        if self._path is None:
            return
        line = {"commit": self._commit, "part": part, "name": name, "row": row}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
