"""The cheats of tests/gpu/attacks: each is to be refused, or judged as its honest twin is."""

from __future__ import annotations

import os
from typing import Any

from ouroboros.selftest import AttackResult, load_gpu_attacks, run_attacks


def answered(result: AttackResult) -> bool:
    """Whether a cheat was refused in any way, or judged as what it is where that gains nothing."""
    status = result.verdict.status
    return status.is_candidate_fault or status.value in result.attack.statuses


def measure(workers: int) -> dict[str, Any]:
    """Judges every attack and every twin."""
    stride = int(os.environ.get("OUROBOROS_EVIDENCE_STRIDE", "1"))
    results = list(run_attacks(load_gpu_attacks(on_gpu=True)[::stride], workers=workers))
    summary = {
        "attacks_total": len(results),
        "attacks_answered": sum(answered(one) for one in results),
        "attacks_as_expected": sum(one.attack_passed for one in results),
        "twins_accepted": sum(one.twin_passed for one in results),
    }
    return {
        "summary": summary,
        "failed": min(summary.values()) < len(results),
        "attacks": [{**one.to_dict(), "answered": answered(one)} for one in results],
    }
