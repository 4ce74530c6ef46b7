"""Figures that the documentation repeats are those of the committed results."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_table_of_tolerances_is_what_was_measured() -> None:
    results = json.loads((ROOT / "benchmarks/results/cpu/tolerance.json").read_text())
    measured = []
    for key, group in groupby(results["rows"], lambda row: (row["problem"], row["dtype"])):
        rows = list(group)
        worst = max(
            (row for row in rows if row["honest"]), key=lambda row: row["worst_error_over_allowed"]
        )
        mutants = [row for row in rows if not row["honest"]]
        refused = [row for row in mutants if row["judgement"] == "refused"]
        closest = min(refused, key=lambda row: row["weakest_seed_error_over_allowed"])
        cells = [
            *key,
            f"{worst['worst_error_over_allowed']:.2f}",
            worst["implementation"],
            f"{len(refused)} of {len(mutants)} refused",
            closest["implementation"],
            f"{closest['weakest_seed_error_over_allowed']:.3g}",
        ]
        measured.append(f"| {' | '.join(cells)} |")
    text = (ROOT / "docs/tolerance.md").read_text()
    table = text.split("| problem | dtype | honest, worst |", 1)[1].split("\n\n", 1)[0]
    assert table.splitlines()[2:] == measured
    assert f"--first-seed {results['provenance']['first_seed']} " in text
