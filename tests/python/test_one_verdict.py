"""Python and the shell are doors to one referee: the same seed gives the same record."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import ouroboros

KERNEL = Path(__file__).resolve().parents[2] / "examples/kernels/softmax.cpp"
SEED = 0x0123456789ABCDEF


def test_python_and_the_shell_give_the_same_correctness_record() -> None:
    verdict = ouroboros.verify(KERNEL, "softmax", until="sweep", seed=SEED)
    command = ["judge", "--problem", "softmax", "--until", "sweep", "--json", "-", "--seed"]
    done = subprocess.run(
        [sys.executable, "-m", "ouroboros.cli", *command, hex(SEED), str(KERNEL)],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    printed = json.loads(done.stdout)
    ours = verdict.to_dict()
    assert printed.keys() == ours.keys()
    assert printed["correctness"] == ours["correctness"]
    assert printed["provenance"]["seed"] == ours["provenance"]["seed"]
