"""How often chance lets a cheat through: each is judged by one seed after the other.

    python benchmarks/unfoolable/seeds.py --first-seed 9001 --seeds 20 [NAME ...]

Takes the rows of tests/attacks that a sweep refuses for what they return (or those whose names hold
a NAME): what one seed draws may miss one of them by chance. Writes
benchmarks/results/cpu/attack_seeds.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import catalogue  # noqa: E402
import ouroboros  # noqa: E402
from machine import provenance  # noqa: E402


def is_told_by_results(row: catalogue.Row) -> bool:
    """Whether a sweep of whatever inputs has to refuse it, and nothing else does."""
    statuses: list[str] = row["expect"]["status"]
    return statuses == ["incorrect"] and row.get("until", "sweep") == "sweep"


def judged_by(row: catalogue.Row, seeds: range) -> catalogue.Row:
    """Returns by which of the seeds the row was accepted."""
    accepted = []
    for seed in seeds:
        referee = ouroboros.Referee(until="sweep", dtypes=["float32"], seed=seed)
        verdict = referee.judge(row["problem"], catalogue.HOST / row["file"])
        if verdict.status is ouroboros.Status.ok:
            accepted.append(seed)
        elif not verdict.status.is_candidate_fault:  # Nobody has judged it.
            raise RuntimeError(f"{row['name']}, seed {seed}: {verdict.status}: {verdict.summary}")
    return {
        **catalogue.described(catalogue.HOST, row),
        "seeds": len(seeds),
        "accepted_seeds": accepted,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of rows' names; all without one")
    parser.add_argument("--first-seed", type=int, required=True, help="nobody tuned anything by it")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument(
        "--out", type=Path, default=ROOT / "benchmarks/results/cpu/attack_seeds.json"
    )
    asked = parser.parse_args()
    seeds = range(asked.first_seed, asked.first_seed + asked.seeds)
    wanted = [
        row
        for row in catalogue.rows(catalogue.HOST)
        if is_told_by_results(row)
        and (not asked.names or any(part in row["name"] for part in asked.names))
    ]
    found: list[catalogue.Row] = []

    def keep(key: str, row: catalogue.Row) -> None:
        found.append(row)
        print(f"{key}: accepted by {row['accepted_seeds'] or 'none'}", flush=True)

    left: dict[str, Callable[[], catalogue.Row]] = {
        row["name"]: lambda row=row: judged_by(row, seeds) for row in wanted
    }
    catalogue.judge_all(left, keep)
    summary = {
        "first_seed": asked.first_seed,
        "seeds": asked.seeds,
        "rows_total": len(found),
        "rows_ever_accepted": sum(bool(row["accepted_seeds"]) for row in found),
        "verdicts_total": len(found) * asked.seeds,
        "verdicts_accepted": sum(len(row["accepted_seeds"]) for row in found),
    }
    document = {"summary": summary, "provenance": provenance(), "rows": found}
    asked.out.write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(summary, indent=1))


if __name__ == "__main__":
    main()
