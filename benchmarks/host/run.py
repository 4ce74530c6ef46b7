"""What the referee costs, and what it catches, on this machine: see benchmarks/README.md.

    python benchmarks/host/run.py

Takes some minutes on a quiet machine and writes benchmarks/results/cpu/host.json. Ends with 1
when an attack was accepted or an honest twin refused.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

import attacks
import handover
import memory
import overhead

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

from machine import provenance  # noqa: E402

RESULT = ROOT / "benchmarks/results/cpu/host.json"
TARGETS = {
    "verdict_overhead_s": 0.5,
    "sweep_overhead_s": 0.2,
    "handover_us": 30.0,
    "rss_added_mib": 200.0,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULT, help="where the JSON goes")
    parser.add_argument("--repeats", type=int, default=7, help="warm verdicts of each kind")
    parser.add_argument("--samples", type=int, default=20000, help="hand-overs")
    parser.add_argument("--attack", action="append", default=[], help="only these attacks")
    parser.add_argument("--no-attacks", action="store_true", help="leave the attacks out")
    options = parser.parse_args()

    started = time.monotonic()
    record = provenance()
    # Timed parts first, one at a time; attacks use every processor.
    raw: dict[str, Any] = {
        "handover": handover.measure(options.samples),
        "sweep": overhead.measure("sweep", options.repeats),
        "verdict": overhead.measure("time", options.repeats),
        "memory": memory.measure(repeats=3),
    }
    summary: dict[str, float] = {
        "verdict_overhead_s": raw["verdict"]["overhead_s"],
        "sweep_overhead_s": raw["sweep"]["overhead_s"],
        "handover_us": raw["handover"]["handover_us"],
        "rss_added_mib": raw["memory"]["eager"]["added_mib"],
    }
    if not options.no_attacks:
        raw["attacks"] = attacks.measure(options.attack)
        for key in ("attacks_total", "attacks_refused", "twins_total", "twins_accepted"):
            summary[key] = raw["attacks"][key]
    record["duration_s"] = time.monotonic() - started
    document: dict[str, Any] = {
        "benchmark": "host",
        "summary": {
            key: round(value, 6) if isinstance(value, float) else value
            for key, value in summary.items()
        },
        "targets": TARGETS,
        "provenance": record,
        "raw": raw,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")

    for key, value in document["summary"].items():
        target = f"   target {TARGETS[key]:g}" if key in TARGETS else ""
        print(f"{key:20} {value:10.4g}{target}")
    slow = [key for key, target in TARGETS.items() if summary[key] > target]
    if slow:
        print("targets missed:", ", ".join(slow))
    if options.no_attacks:
        return 0
    right = raw["attacks"]["attacks_refused"] == raw["attacks"]["attacks_total"]
    right = right and raw["attacks"]["twins_accepted"] == raw["attacks"]["twins_total"]
    if not right:
        wrong = [row["attack"] for row in raw["attacks"]["rows"] if not row["passed"]]
        print("not as expected:", ", ".join(wrong))
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
