"""Where and when something was measured."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import subprocess
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import ouroboros
import torch
from ouroboros._ouroboros import cuda_devices

ROOT = Path(__file__).resolve().parents[1]


def triton_version() -> str:
    """Returns Triton's version; empty where there is no Triton."""
    return importlib.metadata.version("triton") if importlib.util.find_spec("triton") else ""


def provenance() -> dict[str, Any]:
    """Where and when: machine, GPU, versions, commit, date, and how busy the machine was."""

    def said(*command: str) -> str:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        return done.stdout.strip()

    cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in cpuinfo if line.startswith("model name")]
    gpus, _ = cuda_devices()
    return {
        **({"gpu": gpus[0]["name"], "cuda_driver": gpus[0]["driver_version"]} if gpus else {}),
        "machine": names[0] if names else platform.machine(),
        "processors": len(os.sched_getaffinity(0)),
        "load_average": list(os.getloadavg()),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "triton": triton_version(),
        "ouroboros": ouroboros.__version__,
        "compiler": said(os.environ.get("CXX", "c++"), "--version").partition("\n")[0],
        "commit": said("git", "rev-parse", "HEAD"),
        "uncommitted_changes": bool(said("git", "status", "--porcelain")),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }
