"""The double measure on a GPU, from what other benchmarks found there.

    python benchmarks/unfoolable/on_gpu.py [FOLDER]

FOLDER, by default benchmarks/results/h200, has replay.json (`make gpu-evidence`: attacks and honest
kernels) and may have mutants.json (mutants of CUDA C++). Writes unfoolable.json there, with every
row of the catalogue and every kernel that was refused; ends with 1 when a row without a known hole
is not answered.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import catalogue  # noqa: E402


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "benchmarks/results/h200"
    replay = json.loads((folder / "replay.json").read_text())
    mutated = folder / "mutants.json"
    mutants = json.loads(mutated.read_text())["summary"] if mutated.exists() else {}
    described = {row["name"]: row for row in catalogue.rows(catalogue.GPU)}
    rows: list[dict[str, Any]] = [
        {
            **catalogue.described(catalogue.GPU, described[one["attack"]]),
            "verdict": one["status"],
            "finding": one["findings"][0]["kind"] if one["findings"] else "",
            "evidence": (one["findings"][0]["evidence"] if one["findings"] else one["summary"])[
                :300
            ],
            "answered": one["answered"],
            "as_expected": not one["problems"],
            "twin_accepted": one["twin_status"] == "ok",
            "hole": described[one["attack"]].get("hole", ""),
        }
        for one in replay["attacks"]["attacks"]
    ]
    kernels = replay["honest"]["kernels"]
    refused = [one for one in kernels if one["status"] != "ok"]
    summary = {
        "rows_total": len(rows),
        "rows_answered": sum(row["answered"] for row in rows),
        "rows_with_known_holes": sum(not row["answered"] and bool(row["hole"]) for row in rows),
        "own_attacks": sum(row["own"] for row in rows),
        "twins_accepted": sum(row["twin_accepted"] for row in rows),
        "catalogue_wall_s": replay["attacks"]["wall_s"],
        "honest_total": len(kernels),
        "honest_refused": len(refused),
        "honest_nondeterministic_labelled": sum(one["nondeterministic"] for one in kernels),
        **{key: mutants[key] for key in mutants if key.startswith("mutants_")},
    }
    parts = ("attacks", "honest")  # A part that was merged into an older file says its commit.
    commits = {part: replay[part].get("commit", replay["commit"]) for part in parts}
    head = {key: replay[key] for key in ("gpu", "driver", "torch", "triton", "date")}
    document = {"summary": summary, **head, "commits": commits, "honest_refused": refused}
    (folder / "unfoolable.json").write_text(json.dumps({**document, "rows": rows}, indent=1) + "\n")
    print(json.dumps(summary, indent=1))
    open_rows = [row["row"] for row in rows if not row["answered"] and not row["hole"]]
    print("not answered:", ", ".join(open_rows) or "none")
    return 1 if open_rows else 0


if __name__ == "__main__":
    sys.exit(main())
