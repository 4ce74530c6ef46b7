"""The catalogue of attacks: how many are refused, and how many honest twins are accepted."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ouroboros.selftest import Attack, load_attacks, run_attack


def harmless(attack: Attack) -> bool:
    """Whether the table expects `ok`, because what the attack does changes nothing."""
    return "ok" in attack.statuses


def measure(only: Sequence[str] = ()) -> dict[str, Any]:
    """Judges every attack and its twin, on all processors.

    Args:
        only: Names of the attacks to run; all when empty.
    """
    attacks = [attack for attack in load_attacks() if not only or attack.name in only]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        results = list(pool.map(run_attack, attacks))
    hostile = [one for one in results if not harmless(one.attack)]
    return {
        "attacks_total": len(hostile),
        "attacks_refused": sum(
            one.attack_passed and one.verdict.status.is_candidate_fault for one in hostile
        ),
        "attacks_harmless": len(results) - len(hostile),
        "attacks_harmless_as_expected": sum(
            one.attack_passed for one in results if harmless(one.attack)
        ),
        "twins_total": len(results),
        "twins_accepted": sum(one.twin_passed for one in results),
        "rows": [one.to_dict() for one in results],
    }
