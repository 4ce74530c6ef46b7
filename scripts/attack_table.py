#!/usr/bin/env python3
"""Writes the table of tests/gpu/attacks into docs/security.md; --check only says if it differs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[1]
ATTACKS = ROOT / "tests/gpu/attacks/attacks.toml"
PAGE = ROOT / "docs/security.md"
BEGIN = "<!-- scripts/attack_table.py writes what follows -->\n"
END = "<!-- until here -->\n"


def verdict(expect: dict[str, list[str]]) -> str:
    """Returns the statuses in words."""
    return " or ".join(f"`{status}`" for status in expect["status"])


def both(without: dict[str, list[str]], on_gpu: dict[str, list[str]]) -> str:
    """Returns a verdict, and that on a GPU where it is another."""
    if on_gpu["status"] == without["status"]:
        return verdict(without)
    return f"{verdict(without)}; on a GPU {verdict(on_gpu)}"


def row_of(*cells: str) -> str:
    """Returns a line of a table."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def holes(rows: list[dict[str, Any]]) -> str:
    """Returns what is known to be accepted and should not be."""
    lines = ["| attack | what it tries | why it is accepted |", "|---|---|---|"]
    for row in rows:
        if "hole" in row:
            lines.append(row_of(f"`{row['name']}`", row["tries"].removesuffix("."), row["hole"]))
    return "\n".join(lines) + "\n"


def table(rows: list[dict[str, Any]]) -> str:
    """Returns the rows, in the order of who answers them."""
    order = ("trace", "compile", "audit", "interpreter", "replay", "construction")
    rows = sorted(rows, key=lambda row: order.index(row["answered"]))
    lines = [
        "| attack | threats | what it tries | answered by | verdict | finding, evidence |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        expect = row["expect"]
        marks = [f"`{expect[key]}`" for key in ("finding", "evidence") if expect[key]]
        line = row_of(
            f"`{row['name']}`",
            ", ".join(row["rows"]) or "own",
            row["tries"].removesuffix("."),
            row["answered"],
            both(expect, row.get("on_gpu", expect)),
            ", ".join(marks),
        )
        lines.append(line)
    return "\n".join(lines) + "\n"


def main() -> int:
    """Returns the exit status."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    rows = tomllib.loads(ATTACKS.read_text(encoding="utf-8"))["attack"]
    known = "Known to be accepted, though they should not be:\n\n" + holes(rows)
    new = before + BEGIN + "\n" + known + "\n" + table(rows) + "\n" + END + after
    if "--check" in sys.argv[1:]:
        if new != text:
            print("docs/security.md is behind tests/gpu/attacks: run scripts/attack_table.py")
        return int(new != text)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
