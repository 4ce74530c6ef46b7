"""What all rows together say: mutants.json."""

from __future__ import annotations

import collections
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import survivors
from rows import ROOT, SEED, Row, kernels

sys.path.append(str(ROOT / "benchmarks"))

from machine import provenance

__all__ = ["verdict_on", "write", "write_cuda"]


def verdict_on(row: Row, differs: list[Any] | None) -> tuple[str, str]:
    """Returns whether a mutant was killed, is equivalent or survived, and why.

    Args:
        row: What the judge said of it.
        differs: Other inputs on which its bits are others; None where nobody looked.
    """
    if row["outcome"] == "killed":
        return "killed", row["status"]
    argued = survivors.argued(row)
    if argued is not None and survivors.is_equivalent(row):
        return "equivalent", argued
    if differs == [] and row["operator"] in survivors.EQUAL_BITS_ARE_ENOUGH:
        return "equivalent", "the honest kernel's bits on every other input"
    if argued is None and differs and all(family(one) in ("infinite", "nan") for one in differs):
        return "survived", survivors.ONLY_NOT_FINITE
    return "survived", argued or "not looked into: the run was cut off"


def family(difference: Sequence[Any]) -> str:
    return str(difference[0]).split()[-1]


def counted(found: Iterable[tuple[str, str]]) -> dict[str, dict[str, int]]:
    """Returns how many of each group were killed, are equivalent and survived."""
    groups: dict[str, dict[str, int]] = collections.defaultdict(
        lambda: {"killed": 0, "equivalent": 0, "survived": 0}
    )
    for group, verdict in found:
        groups[group][verdict] += 1
    return dict(sorted(groups.items()))


def of(rows: list[Row], elsewhere: Mapping[tuple[str, str], list[Any]]) -> dict[str, Any]:
    """Returns what some mutants' rows say: figures, and by name who was not killed."""
    found = [(row, *verdict_on(row, elsewhere.get((row["kernel"], row["key"])))) for row in rows]

    def listed(wanted: str) -> list[dict[str, Any]]:
        names = ("kernel", "operator", "key", "line", "before", "after", "error_over_allowed")
        return [
            {
                **{name: row[name] for name in names},
                "why": why,
                "differs": elsewhere.get((row["kernel"], row["key"])),
            }
            for row, verdict, why in found
            if verdict == wanted
        ]

    totals = collections.Counter(verdict for _, verdict, _ in found)
    return {
        "summary": {
            "mutants_total": len(found),
            "mutants_killed": totals["killed"],
            "mutants_equivalent": totals["equivalent"],
            "mutants_survived": totals["survived"],
        },
        "killed_by": dict(
            collections.Counter(
                (row["findings"] or [row["status"]])[0] for row, verdict, _ in found
                if verdict == "killed"
            ).most_common()
        ),
        "survived_by_reason": dict(
            collections.Counter(why for _, verdict, why in found if verdict == "survived")
        ),
        "by_operator": counted((row["operator"], verdict) for row, verdict, _ in found),
        "by_kernel": counted((row["kernel"], verdict) for row, verdict, _ in found),
        "survivors": listed("survived"),
        "equivalents": listed("equivalent"),
    }  # fmt: skip


def write(path: Path, rows: Mapping[str, list[Row]]) -> None:
    """Writes the result file."""
    elsewhere = {(row["kernel"], row["key"]): row["differs"] for row in rows["elsewhere"]}
    again = {(row["kernel"], row["key"]): row for row in rows["thorough"]}
    judged = [again.get((row["kernel"], row["key"]), row) for row in rows["triton"]]
    judged = [row for row in judged if row["outcome"] != "not_judged"]
    found = of(judged, elsewhere)
    programs = [row for row in rows["compiled"] if row["status"] == "ok"]
    found["summary"] |= {
        "triton_kernels": len({row["kernel"] for row in judged}),
        "triton_kernels_in_the_tree": len(kernels("py")),
        "cuda_mutants_made": len(rows["compiled"]),
        "cuda_mutants_that_compile": len(programs),
        "cuda_kernels": len({row["kernel"] for row in programs}),
    }
    document = {
        **provenance(),
        "seed": SEED,
        "what_was_run": survivors.WHAT_WAS_RUN,
        "what_was_not_run": survivors.WHAT_WAS_NOT_RUN,
        **found,
        "cuda_by_operator": dict(
            sorted(collections.Counter(row["operator"] for row in programs).items())
        ),
    }
    keep(path, document)


def write_cuda(path: Path, rows: list[Row]) -> None:
    """Writes the result file of mutants of CUDA C++, which a GPU has judged."""
    judged = [row for row in rows if row["outcome"] != "not_judged"]
    found = of(judged, {})
    found["summary"]["kernels"] = len({row["kernel"] for row in judged})
    keep(path, {**provenance(), "seed": SEED, "what_was_run": survivors.CUDA_WAS_RUN, **found})


def keep(path: Path, document: dict[str, Any]) -> None:
    path.write_text(json.dumps(document, indent=1) + "\n")
    print(json.dumps(document["summary"]), flush=True)
