"""What this machine offers to a referee, and what is missing."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from ouroboros import _ouroboros
from ouroboros.verdict import Status

__all__ = ["Check", "examine"]

State = Literal["ok", "degraded", "missing", "info"]

_NOTHING_WORKS = "Nothing can be judged on this machine until this works."

_KERNEL = """
#include <cmath>
#include <cstdint>
extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t row = 0; row < rows; ++row, x += cols, out += cols) {
    float peak = -INFINITY;
    for (int64_t i = 0; i < cols; ++i) peak = std::fmax(peak, x[i]);
    double sum = 0;
    for (int64_t i = 0; i < cols; ++i) sum += std::exp(x[i] - peak);
    for (int64_t i = 0; i < cols; ++i) out[i] = std::exp(x[i] - peak) / static_cast<float>(sum);
  }
}
"""

_COMPILERS = ("c++", "g++", "clang++")


@dataclass(frozen=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: What it is.
        state: "ok"; "degraded", where the referee works with less; "missing", where it cannot work
            at all; "info" for what is neither good nor bad.
        found: What was found.
        advice: What to do about it; empty when there is nothing to do.
    """

    name: str
    state: State
    found: str
    advice: str = ""

    def to_dict(self) -> dict[str, str]:
        """Returns the check as plain data."""
        return asdict(self)


def examine() -> list[Check]:
    """Looks at everything that judging on this machine depends on."""
    return [
        _versions(),
        _processor(),
        _load(),
        _kernel(),
        _compiler(),
        _scratch(),
        _notification(),
        *_judgement(),
    ]


def _versions() -> Check:
    import torch

    return Check(
        "versions",
        "info",
        f"ouroboros {_ouroboros.__version__}, Python {platform.python_version()}, "
        f"PyTorch {torch.__version__}",
    )


def _processor() -> Check:
    model = platform.processor() or platform.machine()
    for line in _lines(Path("/proc/cpuinfo")):
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            model = value.strip()
            break
    usable = len(os.sched_getaffinity(0))
    return Check("processors", "info", f"{usable} usable, {model}")


def _load() -> Check:
    load, usable = os.getloadavg()[0], len(os.sched_getaffinity(0))
    found = f"{load:.1f} over the last minute on {usable} processors"
    if load > usable:
        return Check(
            "load",
            "degraded",
            found,
            "The machine is busy: verdicts stay right, timing takes longer to decide or stays "
            "ambiguous.",
        )
    return Check("load", "ok", found)


def _kernel() -> Check:
    found = f"{platform.system()} {platform.release()} {platform.machine()}"
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return Check(
            "kernel", "missing", found, "The host executor needs Linux on x86-64 processors."
        )
    return Check("kernel", "ok", found)


def _compiler() -> Check:
    asked = os.environ.get("CXX")
    for name in (asked, *_COMPILERS) if asked else _COMPILERS:
        path = shutil.which(name)
        if path is None:
            continue
        try:
            answer = subprocess.run(
                [path, "--version"], capture_output=True, text=True, timeout=20, check=True
            )
        except (OSError, subprocess.SubprocessError) as error:
            return Check("compiler", "missing", f"{path} does not run: {error}", _install_hint())
        return Check("compiler", "ok", f"{path}: {answer.stdout.partition(chr(10))[0]}")
    tried = ", ".join((f"$CXX ({asked})", *_COMPILERS) if asked else _COMPILERS)
    return Check("compiler", "missing", f"none of {tried} was found", _install_hint())


def _install_hint() -> str:
    return "Install one (Debian, Ubuntu: apt-get install g++), or set $CXX."


def _scratch() -> Check:
    folder = Path(tempfile.gettempdir())
    try:
        with tempfile.NamedTemporaryFile(dir=folder):
            free_mib = shutil.disk_usage(folder).free >> 20
    except OSError as error:
        return Check(
            "scratch folder", "missing", f"{folder}: {error}", "Set $TMPDIR to a folder of yours."
        )
    found = f"{folder}, {free_mib} MiB free"
    if free_mib < 256:
        return Check("scratch folder", "degraded", found, "Compilations need up to 256 MiB.")
    return Check("scratch folder", "ok", found)


def _notification() -> Check:
    actions = " ".join(_lines(Path("/proc/sys/kernel/seccomp/actions_avail"))).split()
    if "user_notif" in actions:
        return Check("seccomp notification", "ok", "user_notif is available")
    return Check(
        "seccomp notification",
        "missing",
        f"available: {' '.join(actions) or 'nothing'}",
        "A candidate is sealed by seccomp with user notification: Linux 5.5 or newer, and in a "
        "container a runtime that allows the seccomp system call.",
    )


def _judgement() -> list[Check]:
    """Judges a kernel that is known to be right: the only proof that the parts work together."""
    from ouroboros.referee import verify

    try:
        verdict = verify(_KERNEL, "softmax", until="sweep", dtypes=["float32"], name="doctor.cpp")
    except _ouroboros.OuroborosError as error:
        return [Check("judgement", "missing", f"{error.code}: {error}", _NOTHING_WORKS)]
    isolation = verdict.isolation
    took = f"{verdict.provenance.duration_s:.1f} s"
    if verdict.status is not Status.ok:
        found = f"a correct kernel got {verdict.status}: {verdict.summary}"
        judged = Check("judgement", "missing", found, _NOTHING_WORKS)
    else:
        judged = Check("judgement", "ok", f"a kernel was compiled, sealed and judged in {took}")
    checks = [
        judged,
        Check(
            "seal",
            "ok" if isolation.sealed else "missing",
            "every system call stops a candidate" if isolation.sealed else "not in force",
        ),
        _flag("namespaces", bool(isolation.namespaces), ", ".join(isolation.namespaces)),
        _flag("Landlock", isolation.landlock_abi > 0, f"ABI {isolation.landlock_abi}"),
        _flag("no new privileges", isolation.no_new_privileges),
        _flag("resource limits", isolation.resource_limits),
        _flag("process group", isolation.process_group),
    ]
    checks += [Check("not in force", "degraded", sentence) for sentence in isolation.missing]
    if isolation.runs_as_root:
        checks.append(
            Check(
                "user",
                "degraded",
                "the referee runs as root",
                "Run it as an ordinary user, so that a hole in the sandbox is a smaller one.",
            )
        )
    return checks


def _flag(name: str, in_force: bool, found: str = "in force") -> Check:
    return Check(name, "ok" if in_force else "degraded", found if in_force else "not in force")


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
