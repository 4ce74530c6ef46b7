"""Builds handover.cpp against the installed library, runs it and returns what it measured."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import ouroboros

# The kernel that does nothing: what is left is the hand-over.
KERNEL = """
#include <cstdint>
extern "C" void run_float32(const float*, float*, std::int64_t) {}
"""


def measure(samples: int) -> dict[str, Any]:
    """Times `samples` hand-overs and as many direct calls."""
    package = Path(ouroboros.__file__).parent
    compiler = os.environ.get("CXX", "c++")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "kernel.cpp"
        source.write_text(KERNEL, encoding="utf-8")
        build = [compiler, "-std=c++20", "-O3"]
        module = folder / "kernel.so"
        # As the referee links modules: the executor's loader wants this table.
        shared = ["-shared", "-fPIC", "-Wl,--hash-style=both"]
        subprocess.run([*build, *shared, "-o", module, source], check=True)
        program = folder / "handover"
        libraries = package / "lib"
        build += [f"-I{package / 'include'}", f"-L{libraries}", f"-Wl,-rpath,{libraries}"]
        own = Path(__file__).with_name("handover.cpp")
        subprocess.run([*build, "-o", program, own, "-louroboros_replay", "-ldl"], check=True)
        done = subprocess.run(
            [program, module, str(samples)],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
    result: dict[str, Any] = json.loads(done.stdout)
    return result
