"""Machines that run out, or whose wall clock jumps: what the verdicts on known candidates say."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from candidates import LARGE, MIX
from kills import HANG_SECONDS, LIMITS
from processes import become_subreaper, reap_orphans
from referees import Referee, on_fake_gpu

__all__ = ["run"]

FOLDER = Path(__file__).resolve().parent
_RIGHT = {known.name: known.status for known in (*MIX, LARGE)}
_SOME = ("host honest", "host zeros", "cuda honest", "cuda skips its tail", "triton honest",
         "triton skips its tail")  # fmt: skip
_CGROUPS = Path("/sys/fs/cgroup/memory")
_SMALL_IMAGES = {**LIMITS, "image_mib": 1}  # So that a small file system seems to do.


def _judged(referee: Referee, candidate: str, scenario: str, must_be_right: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"scenario": scenario, "candidate": candidate}
    try:
        referee.ask({"id": 0, "candidate": candidate})
        said = referee.answer(HANG_SECONDS)
    except (queue.Empty, RuntimeError, BrokenPipeError) as error:
        last_words = (referee.folder / "stderr").read_text(errors="replace")[-300:]
        return {
            **row,
            "status": "none",
            "said": f"{type(error).__name__}: {error}; {last_words}",
            "right": False,
        }
    allowed = {_RIGHT[candidate]} | (set() if must_be_right else {"infrastructure_error"})
    return {
        **row,
        "status": said["status"],
        "said": said["summary"][:400],
        "right": said["status"] in allowed,
    }


def _full_disk(driver: Path) -> Iterator[dict[str, Any]]:
    """The folder for temporary files is a file system of a few pages or MiB."""
    if os.geteuid() != 0:
        return
    for size in ("16k", "300k", "8m"):
        mount = ("unshare", "--mount", "sh", "-c",
                 f'mount -t tmpfs -o size={size} tmpfs "$TMPDIR" && exec "$@"', "sh")  # fmt: skip
        with on_fake_gpu(driver, _SMALL_IMAGES, mount) as referee:
            for candidate in _SOME:
                yield _judged(referee, candidate, f"a disk of {size}", size == "8m")


def _descriptors(driver: Path) -> Iterator[dict[str, Any]]:
    """The referee may open only so many more files."""
    for more in (2, 4, 8, 64):
        with on_fake_gpu(driver, LIMITS) as referee:
            referee.ask({"descriptors": more})
            for candidate in _SOME:
                yield _judged(referee, candidate, f"{more} more descriptors", more == 64)


def _memory(driver: Path) -> Iterator[dict[str, Any]]:
    """The referee's address space, and that of what it starts, may not grow much."""
    for more in (20, 24, 32, 48, 128, 512, 2048):
        with on_fake_gpu(driver, LIMITS) as referee:
            referee.ask({"address_space_mib": more})
            for candidate in _SOME:
                yield _judged(referee, candidate, f"{more} MiB more of addresses", False)


def _killed_for_memory(driver: Path) -> Iterator[dict[str, Any]]:
    """A control group in which the kernel kills who asks for too much."""
    for mib in (500, 900):
        group = _CGROUPS / f"ouroboros-faults-{os.getpid()}-{mib}"
        try:
            group.mkdir()
            (group / "memory.limit_in_bytes").write_text(str(mib << 20))
        except OSError:
            return
        join = ("sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "sh")
        try:
            with on_fake_gpu(driver, LIMITS, join) as referee:
                for candidate in _SOME:
                    row = _judged(referee, candidate, f"a machine of {mib} MiB", False)
                    if row["status"] == "none":
                        # The kernel may take the referee itself, of which there is no verdict.
                        row["right"] = referee.process.wait() == -signal.SIGKILL
                    yield row
                    if row["status"] == "none":
                        break
        finally:
            with contextlib.suppress(OSError):
                group.rmdir()


def _gpu_memory(driver: Path) -> Iterator[dict[str, Any]]:
    """A GPU with 64 MiB left, and buffers of 80 MiB."""
    with on_fake_gpu(driver.with_name("libfake_cuda_crowded.so"), LIMITS) as referee:
        for candidate in (LARGE.name, "triton honest"):
            yield _judged(referee, candidate, "a GPU with 64 MiB left", False)


def _clock(driver: Path) -> Iterator[dict[str, Any]]:
    """The wall clock jumps by up to two days at every reading."""
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "jumping_clock.so"
        subprocess.run(
            ["cc", "-shared", "-fPIC", "-O1", str(FOLDER / "jumping_clock.c"), "-o", str(library)],
            check=True,
        )
        with on_fake_gpu(driver, LIMITS, LD_PRELOAD=str(library)) as referee:
            for candidate in (*_SOME, "host loops", "host honest, timed"):
                yield _judged(referee, candidate, "a wall clock that jumps", True)


def run(driver: Path) -> list[dict[str, Any]]:
    """Returns a row for each scenario and candidate: what the verdict said, and whether rightly."""
    become_subreaper()
    rows = []
    for scenario in (_clock, _gpu_memory, _full_disk, _descriptors, _memory, _killed_for_memory):
        for row in scenario(driver):
            print(row["scenario"], "|", row["candidate"], "|", row["status"], "|",
                  row["said"][:160], flush=True)  # fmt: skip
            rows.append(row)
        if orphans := reap_orphans(set()):
            rows.append({"scenario": scenario.__doc__, "candidate": "", "status": "left processes",
                         "said": "; ".join(orphans), "right": False})  # fmt: skip
    return rows
