"""What the GPU path does, on this machine's GPU: see benchmarks/README.md.

    make gpu-evidence

Judges the honest kernels and the cheats of tests/gpu, compares replays with direct runs bit by bit,
and measures tracing, contexts, sweeps and hygiene. Writes replay.json to the folder of --out. Ends
with 1 when an honest kernel was refused, a replay differed, or a cheat was not answered.

With --rows, what was judged is kept in that file as it comes, and a run that was cut off goes on
from there.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
import traceback
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import attacks
import baselines
import honest
import ouroboros
import throughput
import torch
from kept_rows import KeptRows
from ouroboros._ouroboros import cuda_devices

ROOT = Path(__file__).resolve().parents[2]
PARTS: dict[str, Callable[[int, KeptRows], dict[str, Any]]] = {
    "throughput": throughput.measure,
    "honest": honest.measure,
    "baselines": baselines.measure,
    "attacks": attacks.measure,
}


def provenance(commit: str) -> dict[str, Any]:
    """Where and when: GPU, driver, versions, commit, date."""
    import triton

    (device, *_), _ = cuda_devices()
    cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in cpuinfo if line.startswith("model name")]
    driver = Path("/proc/driver/nvidia/version")
    return {
        "gpu": device["name"],
        "target": device["target"],
        "cuda_driver": device["driver_version"],
        "driver": driver.read_text().splitlines()[0] if driver.exists() else "",
        "machine": names[0] if names else platform.machine(),
        "processors": len(os.sched_getaffinity(0)),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "triton": triton.__version__,
        "ouroboros": ouroboros.__version__,
        "commit": commit,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder for the JSON")
    parser.add_argument("--commit", default="", help="what is measured")
    parser.add_argument("--workers", type=int, default=8, help="candidates that are traced at once")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas")
    parser.add_argument("--rows", type=Path, help="file of rows to go on from")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)

    rows = KeptRows(options.rows, options.commit)
    record = provenance(options.commit)
    summary: dict[str, Any] = {}
    failed = False
    for name in options.only.split(","):
        started = time.monotonic()
        try:
            part = PARTS[name](options.workers, rows)
        except Exception:
            part = {"summary": {}, "failed": True, "error": traceback.format_exc()[-4000:]}
        part["wall_s"] = round(time.monotonic() - started, 2)
        summary |= part.pop("summary")
        failed |= part.pop("failed")
        record[name] = part
        print(f"{name}: {part['wall_s']} s", json.dumps(summary), flush=True)
        if "error" in part:
            print(part["error"], flush=True)
        # After each part: a machine may go away half-way.
        document = {"summary": summary, **record}
        (options.out / "replay.json").write_text(json.dumps(document, indent=1) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
