"""Baselines: every plan of PyTorch's has to replay to the bits that it gave when it was traced."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from kept_rows import KeptRows

ROOT = Path(__file__).resolve().parents[2]


def measure(_: int, __: KeptRows) -> dict[str, Any]:
    """Runs tests/gpu/test_live_trace.py, which does the comparing, and takes its counts."""
    with tempfile.TemporaryDirectory() as folder:
        counts = Path(folder) / "counts.json"
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", ROOT / "tests/gpu/test_live_trace.py"],
            env={**os.environ, "OUROBOROS_LIVE_TRACE_COUNTS": str(counts)},
            capture_output=True,
            text=True,
        )
        document = json.loads(counts.read_text()) if counts.exists() else {}
    keys = ("baseline_plans_total", "baseline_plans_equal", "live_traces_per_s")
    return {
        "summary": {key: document.get(key, 0) for key in keys},
        "failed": done.returncode != 0,
        "counts": document,
        "pytest": done.stdout[-3000:],
    }
