"""Verdicts when processes are killed and the machine runs out: see benchmarks/README.md.

    python benchmarks/faults/run.py

Needs a build with the fake CUDA driver (`make test`), and takes about half an hour. Writes
benchmarks/results/cpu/faults.json; a part that is left out stays there as it was. Ends with 1 when
a verdict was wrong, hung or lost, or something leaked.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import kills  # noqa: E402
import scenarios  # noqa: E402
from machine import provenance  # noqa: E402

RESULT = ROOT / "benchmarks/results/cpu/faults.json"
MUST_BE_ZERO = ("wrong_after_kill", "lost", "hangs", "leaks", "scenarios_wrong")


def _so_far(path: Path) -> dict[str, Any]:
    if path.is_file():
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return document
    return {"benchmark": "faults", "summary": {}, "provenance": {}, "raw": {}}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=RESULT, help="where the JSON goes")
    parser.add_argument("--kills", type=int, default=300, help="processes to kill; 0 for none")
    parser.add_argument("--seed", type=int, default=1, help="of the killer's choices")
    parser.add_argument("--no-scenarios", action="store_true", help="only the kills")
    options = parser.parse_args()
    drivers = sorted(ROOT.glob("build/*/tests/cpp/libfake_cuda_good.so"))
    if not drivers:
        parser.error("the fake CUDA driver is not built: run `make test`")

    document = _so_far(options.out)
    if options.kills:
        found = kills.run(drivers[0], options.kills, options.seed)
        document["summary"] |= found.pop("summary")
        document["raw"]["kills"] = found
        document["provenance"]["kills"] = provenance()
    if not options.no_scenarios:
        rows = scenarios.run(drivers[0])
        document["summary"]["scenarios"] = len(rows)
        document["summary"]["scenarios_wrong"] = sum(not one["right"] for one in rows)
        document["raw"]["scenarios"] = rows
        document["provenance"]["scenarios"] = provenance()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    for key, value in document["summary"].items():
        print(f"{key:22} {value}")
    wrong = [key for key in MUST_BE_ZERO if document["summary"].get(key)]
    if wrong:
        print("not zero:", ", ".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
