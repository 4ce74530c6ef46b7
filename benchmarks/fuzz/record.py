"""Writes what fuzzers did, from their logs: see benchmarks/README.md.

    scripts/fuzz.sh 3600
    python benchmarks/fuzz/record.py build/fuzz/*.log --out benchmarks/results/cpu/fuzz.json

Reads what libFuzzer prints, of one run in each file, which is named by its target.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
DONE = re.compile(r"^Done (\d+) runs in (\d+) second", re.M)
PROGRESS = re.compile(r"^#\d+\s+\S+\s+cov: (\d+) ft: (\d+) corp: (\d+)/", re.M)
FINDING = re.compile(r"^SUMMARY: .*|^==\d+== ERROR: libFuzzer: .*", re.M)


def read(log: Path) -> dict[str, Any]:
    """Returns one run. Raises `ValueError` for a file that is no log of a run that ended."""
    text = log.read_text(encoding="utf-8", errors="replace")
    findings = FINDING.findall(text)
    done = DONE.search(text)
    progress = PROGRESS.findall(text)
    if not progress or (done is None and not findings):
        raise ValueError(f"{log} is no log of a fuzzer that ran to its end")
    edges, features, corpus = (int(number) for number in progress[-1])
    return {
        "target": log.name.split(".")[0],
        "executions": int(done[1]) if done else 0,
        "seconds": int(done[2]) if done else 0,
        "edges": edges,
        "features": features,
        "corpus": corpus,
        "findings": findings,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs", type=Path, nargs="+", metavar="LOG")
    parser.add_argument("--out", type=Path, required=True, help="the JSON file")
    options = parser.parse_args()
    try:
        rows = [read(log) for log in options.logs]
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    commit = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    document = {
        "summary": {
            "fuzz_hours": round(sum(row["seconds"] for row in rows) / 3600, 3),
            "fuzz_executions": sum(row["executions"] for row in rows),
            "fuzz_open_findings": sum(len(row["findings"]) for row in rows),
        },
        "commit": commit.stdout.strip(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "runs": rows,
    }
    options.out.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
