"""The double measure: no cheat is paid, and no honest kernel is refused.

    python benchmarks/unfoolable/run.py [NAME ...]

Judges every row of tests/attacks and tests/gpu/attacks (or those whose names hold a NAME) on this
machine, without a GPU, and sums up what the other benchmarks of results/cpu have found: mutants,
honest kernels, fuzzing and faults. Rows are kept as they come; a run that was cut off goes on where
it stopped. Writes benchmarks/results/cpu/unfoolable.json; ends with 1 when a row without a known
hole is not answered.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import catalogue  # noqa: E402
from machine import provenance  # noqa: E402

RESULTS = ROOT / "benchmarks/results/cpu"
FROM_OTHERS = {
    "mutants": ("mutants_total", "mutants_killed", "mutants_equivalent"),
    "honest": ("honest_total", "honest_refused"),
    "fuzz": ("fuzz_hours", "fuzz_open_findings"),
    "faults": ("random_kills", "wrong_after_kill", "leaks"),
}


def from_others() -> dict[str, Any]:
    """Returns the figures of the other results, and the commits that they are of."""
    figures: dict[str, Any] = {}
    for name, keys in FROM_OTHERS.items():
        summary = json.loads((RESULTS / f"{name}.json").read_text())["summary"]
        figures |= {key: summary[key] for key in keys}
    return figures


def summary_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns the figures of the catalogue: of the rows that need no GPU."""
    here = [row for row in rows if not row.get("needs_gpu")]
    return {
        "rows_total": len(here),
        "rows_answered": sum(row["answered"] for row in here),
        "rows_with_known_holes": sum(bool(row.get("hole")) for row in here),
        "rows_that_need_a_gpu": len(rows) - len(here),
        "own_attacks": sum(row["own"] for row in rows),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of rows' names; all without one")
    parser.add_argument("--out", type=Path, default=RESULTS / "unfoolable.json")
    asked = parser.parse_args()
    partial = asked.out.with_suffix(".partial.json")
    known = json.loads(partial.read_text()) if partial.exists() else {}

    def keep(key: str, row: dict[str, Any]) -> None:
        known[key] = row
        partial.write_text(json.dumps(known))
        print(f"{key}: {row['verdict']} {'' if row['answered'] else 'NOT ANSWERED'}", flush=True)

    wanted = catalogue.tasks(asked.names)
    catalogue.judge_all({key: wanted[key] for key in wanted if key not in known}, keep)
    rows = [known[key] for key in wanted]
    summary = {**summary_of(rows), **from_others()}
    document = {"summary": summary, "provenance": provenance(), "rows": rows}
    asked.out.write_text(json.dumps(document, indent=1) + "\n")
    partial.unlink()
    print(json.dumps(summary, indent=1))
    missing = [
        row["row"]
        for row in rows
        if not (row["answered"] or row.get("needs_gpu") or row.get("hole"))
    ]
    print("not answered:", ", ".join(missing) or "none")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
