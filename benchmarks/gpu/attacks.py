"""The cheats of tests/gpu/attacks: each is to be refused, or judged as its honest twin is."""

from __future__ import annotations

import os
from typing import Any

from kept_rows import KeptRows
from ouroboros.selftest import AttackResult, load_gpu_attacks, run_attacks


def answered(result: AttackResult) -> bool:
    """Whether a cheat was refused in any way, or judged as what it is where that gains nothing."""
    status = result.verdict.status
    return status.is_candidate_fault or status.value in result.attack.statuses


def measure(workers: int, rows: KeptRows) -> dict[str, Any]:
    """Judges every attack and every twin."""
    stride = int(os.environ.get("OUROBOROS_EVIDENCE_STRIDE", "1"))
    attacks = load_gpu_attacks(on_gpu=True)[::stride]
    known = rows.of("attacks")
    for one in run_attacks([a for a in attacks if a.name not in known], workers=workers):
        row = {
            **one.to_dict(),
            "answered": answered(one),
            "attack_passed": one.attack_passed,
            "twin_passed": one.twin_passed,
        }
        rows.add("attacks", one.attack.name, row)
    judged = [rows.of("attacks")[attack.name] for attack in attacks]
    summary = {
        "attacks_total": len(judged),
        "attacks_answered": sum(row["answered"] for row in judged),
        "attacks_as_expected": sum(row["attack_passed"] for row in judged),
        "twins_accepted": sum(row["twin_passed"] for row in judged),
    }
    return {
        "summary": summary,
        "failed": min(summary.values()) < len(judged),
        "attacks": judged,
    }
