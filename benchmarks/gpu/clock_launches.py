"""Whether what a race takes for the cost of a launch is what its arms have: a part of clock.py.

It needs the program own_times.cpp, which tells how long kernels ran by their own account in a race.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from clock_pairs import Chains, trimmed

RUNS = 6
LENGTHS_US = (20.0, 40.0, 200.0)
ROUNDS = 6
"""Of each race: twenty blocks each."""

Row = dict[str, Any]


def launches(shared: Mapping[str, Any]) -> Iterator[Callable[[], Row]]:
    """Races chains that say how long they ran, each time in a process of its own."""
    chains: Chains = shared["chains"]
    lengths = [chains.iterations(microseconds) for microseconds in LENGTHS_US]
    for _run in range(RUNS):
        yield lambda: raced(chains, shared["own_times"], lengths)


def raced(chains: Chains, program: Path, lengths: Sequence[int]) -> Row:
    """Returns what chains take in a race and outside of it, and what a launch was measured to."""
    found = chains.raced(program, lengths, ROUNDS)
    own = [trimmed(arm["own_us"]) for arm in found["arms"]]
    between = [trimmed(arm["between_events_us"]) for arm in found["arms"]]
    return {
        "iterations": list(lengths),
        "own_us": own,
        "own_in_pytorch_us": chains.spans_us(lengths),
        "adds_us": [all_ - mine for all_, mine in zip(between, own, strict=True)],
        "launch_us": [trimmed(costs) for costs in found["launch_us"]],
        "submission": found["submission"],
    }


def say_launches(rows: Sequence[Row], _: Mapping[str, Any]) -> Row:
    """How far what was measured is from what the arms had, by process."""
    off = [statistics.fmean(row["launch_us"]) - statistics.fmean(row["adds_us"]) for row in rows]
    outside = [
        mine / theirs - 1
        for row in rows
        for mine, theirs in zip(row["own_us"], row["own_in_pytorch_us"], strict=True)
    ]
    return {
        "summary": {
            "launch_off_us": statistics.fmean(off),
            "launch_off_most_us": max(off, key=abs),
            "launch_races": len(rows),
            "own_time_off_most": max(outside, key=abs),
        }
    }
