"""What a baseline's run leaves in the cache for a candidate: see benchmarks/README.md.

    python benchmarks/gpu/carry_over.py OUT.json NAME=FOLDER...

Reads the traces that the gate's runs left in each folder (`Referee(until="gate", traces=FOLDER)`):
the candidate is arm 0, its copy arm 1, the baseline arm 2. Within a block all of them meet the same
inputs. If nothing stays in the cache, a second run is as long as the first, however often the
baseline ran in between.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from pathlib import Path
from typing import Any

CANDIDATES, BASELINE = (0, 1), 2
TRIM = 10  # One in so many is left out at either end.
OUTLIER = 0.06  # Log-ratios farther from the median are brought back to it.


def trimmed(values: list[float]) -> dict[str, Any]:
    """Returns a trimmed mean, in per cent, with its standard error (Yuen)."""
    ordered = sorted(values)
    cut = len(ordered) // TRIM
    middle = ordered[cut : len(ordered) - cut]
    winsorised = [middle[0]] * cut + middle + [middle[-1]] * cut
    spread = statistics.stdev(winsorised) / (len(middle) / len(ordered))
    return {
        "percent": round(100 * statistics.fmean(middle), 3),
        "standard_error": round(100 * spread / math.sqrt(len(ordered)), 3),
        "pairs": len(ordered),
    }


def between_sets(ratios: list[tuple[int, float]]) -> float:
    """Returns the variance of a ratio between sets of pages beyond that within them (ANOVA)."""
    groups: dict[int, list[float]] = {}
    for number, ratio in ratios:
        groups.setdefault(number, []).append(ratio)
    count, sets = len(ratios), len(groups)
    mean = statistics.fmean(ratio for _, ratio in ratios)
    means = {number: statistics.fmean(group) for number, group in groups.items()}
    between = sum(len(g) * (means[n] - mean) ** 2 for n, g in groups.items()) / (sets - 1)
    within = sum((ratio - means[n]) ** 2 for n, ratio in ratios) / (count - sets)
    size = (count - sum(len(g) ** 2 for g in groups.values()) / count) / (sets - 1)
    return (between - within) / size


def measure(folder: Path) -> dict[str, Any]:
    """Returns how much shorter second runs are, by runs of the baseline since the first."""
    gains: dict[int, list[float]] = {}
    clocks: dict[int, list[float]] = {}
    variances = []
    runs = []
    for path in sorted(folder.glob("gate*.json")):
        trace = json.loads(path.read_text())
        latency, clock = (trace["columns"].index(name) for name in ("latency_us", "clock_mhz"))
        ratios = []
        for block in trace["blocks"]:
            arms = [sample[0] for sample in block["samples"]]
            for sample in block["samples"]:
                clocks.setdefault(sample[0], []).append(sample[clock])
            logs = [math.log(sample[latency]) for sample in block["samples"]]
            means = {
                arm: statistics.fmean(logs[i] for i, a in enumerate(arms) if a == arm)
                for arm in set(arms)
            }
            ratios.append(means[BASELINE] - means[CANDIDATES[0]])
            for arm in CANDIDATES:
                first, second = (i for i, one in enumerate(arms) if one == arm)
                between = arms[first:second].count(BASELINE)
                gains.setdefault(between, []).append(logs[second] - logs[first])
        runs.append(trimmed(ratios)["percent"])
        middle = statistics.median(ratios)
        clipped = [min(max(ratio, middle - OUTLIER), middle + OUTLIER) for ratio in ratios]
        numbers = [block["set"] for block in trace["blocks"]]
        variances.append(between_sets(list(zip(numbers, clipped, strict=True))))
    return {
        "second_over_first_by_baseline_runs_between": {
            str(count): trimmed(gains[count]) for count in sorted(gains)
        },
        "log_speedup_percent_of_each_process": runs,
        "ratio_sd_between_sets_percent": round(
            100 * math.sqrt(max(0.0, statistics.fmean(variances))), 2
        ),
        "clock_mhz_of_each_arm": {
            str(arm): [
                round(statistics.fmean(clocks[arm]), 2),
                round(statistics.stdev(clocks[arm]) / math.sqrt(len(clocks[arm])), 2),
            ]
            for arm in sorted(clocks)
        },
    }


def main() -> None:
    out = Path(sys.argv[1])
    named = dict(one.split("=", 1) for one in sys.argv[2:])
    found = {name: measure(Path(folder)) for name, folder in named.items()}
    out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
