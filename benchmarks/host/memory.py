"""What the library adds to the memory of a process that has PyTorch at work already.

    python memory.py BASELINE...

judges once with these baselines and prints resident sizes as JSON.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any


def resident_mib(key: str) -> float:
    """VmRSS, or its peak VmHWM, of this process."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    match = re.search(rf"^{key}:\s+(\d+) kB$", text, flags=re.MULTILINE)
    assert match, f"/proc/self/status has no {key}"
    return int(match[1]) / 1024


def judge_and_print(baselines: list[str]) -> None:
    """Measures before the library is imported, after that, and after a verdict."""
    import torch

    torch.softmax(torch.ones(64, 64), -1)
    before = resident_mib("VmRSS")

    import ouroboros
    from ouroboros.selftest import packaged_folder

    imported = resident_mib("VmRSS")
    kernel = packaged_folder("kernels") / "softmax.cpp"
    verdict = ouroboros.verify(kernel, "softmax", baselines=baselines)
    assert verdict.status is ouroboros.Status.ok, verdict.explain()
    after = resident_mib("VmRSS")
    figures = {
        "torch_mib": before,
        "imported_mib": imported,
        "judged_mib": after,
        "peak_mib": resident_mib("VmHWM"),
        "added_mib": after - before,
    }
    print(json.dumps(figures))


def measure(repeats: int) -> dict[str, Any]:
    """Some fresh processes for each set of baselines: the one that grew most, and all of them.

    They differ by tens of MiB, in what the allocator keeps of tensors that are gone.
    """
    results: dict[str, Any] = {}
    for name, baselines in (("eager", ["eager"]), ("eager_and_compile", ["eager", "compile"])):
        runs = []
        for _ in range(repeats):
            done = subprocess.run(
                [sys.executable, __file__, *baselines],
                check=True,
                stdout=subprocess.PIPE,
                text=True,
            )
            runs.append(json.loads(done.stdout))
        results[name] = {"added_mib": max(run["added_mib"] for run in runs), "runs": runs}
    return results


if __name__ == "__main__":
    judge_and_print(sys.argv[1:])
