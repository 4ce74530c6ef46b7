"""The process that runs one candidate's code: it confines itself, then calls the operation."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import math
import os
import sys
import tempfile
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

from ouroboros.trace.zygote import confine
from ouroboros.trace.zygote.frames import Frame, encode, pack
from ouroboros.trace.zygote.job import MIB, Job

__all__ = ["run"]

_OPEN_FILES = 128

# CUDA opens its device files many times, and it and compilers start threads.
_GPU_OPEN_FILES = 1024
_GPU_THREADS = 16


def run(job: Job, result: int, supervisor: int, entered: list[str]) -> NoReturn:
    """Runs `job` and writes two frames to `result`: what confines this process, and the outcome.

    The first, before which none of the candidate's code runs, may say instead why this process
    cannot serve: what is wrong with the machine. `entered` are the supervisor's namespaces.
    """
    try:
        os.setsid()
        confine.die_with_parent(supervisor)
        confinement = _confine(job, entered)
        operation = _prepared(job)
        if isinstance(operation, str):
            _write(result, ({"unfit": operation}, []))
            os._exit(0)
        _write(result, ({"confinement": confinement}, []))
        outcome = _call(job, operation)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        _write(result, outcome)
    except BaseException:
        os.write(2, traceback.format_exc().encode())
        os._exit(1)
    os._exit(0)


def _confine(job: Job, entered: list[str]) -> dict[str, Any]:
    missing = []
    folder = job.scratch
    builds = job.builds or folder
    gpu = job.access.gpu
    os.chdir(folder)
    # Inductor's folder holds what it found to be fastest, beside other work perhaps: nothing to
    # keep. The others hold what does not depend on when it was made.
    os.environ.update(
        HOME=folder, TMPDIR=folder, TEMP=folder, TMP=folder, XDG_CACHE_HOME=folder,
        TRITON_HOME=folder, TRITON_CACHE_DIR=f"{builds}/cache",
        TORCH_EXTENSIONS_DIR=f"{builds}/extensions", TORCHINDUCTOR_CACHE_DIR=f"{folder}/inductor",
        CUPY_CACHE_DIR=f"{builds}/cupy", NUMBA_CACHE_DIR=f"{builds}/numba",
    )  # fmt: skip
    tempfile.tempdir = None  # The zygote's own has been remembered there.
    limits = job.limits
    confine.hide_memory()
    if gpu:
        confine.own_proc_entry()
    missing += confine.refuse_calls(own_processes_only=gpu)
    if "user" in entered:
        confine.drop_capabilities()
    threads = _GPU_THREADS if gpu else 1
    confine.set_limit("CORE", 0)
    confine.set_limit("CPU", threads * math.ceil(limits.seconds) + 1)
    confine.set_limit("FSIZE", limits.file_mib * MIB)
    confine.set_limit("NOFILE", _GPU_OPEN_FILES if gpu else _OPEN_FILES)
    if not gpu and job.base_address_space:
        confine.set_limit("AS", job.base_address_space + limits.memory_mib * MIB)
    elif not gpu:
        missing.append("a tracer's address space is not limited: /proc/self/statm is not readable")
    if "user" in entered:
        # A namespace of its own counts this tree alone, by threads. One more for the supervisor,
        # which is of it, and one that it can see to be too many.
        confine.set_limit("NPROC", threads * limits.processes + 2)
    writable = {folder, builds, "/dev/null", *job.access.writable}
    abi = confine.restrict_files(job.access.readable, sorted(writable))
    if abi == 0:
        missing.append("a tracer's file system is not restricted: Landlock is not available")
    return {"landlock_abi": abi, "missing": missing}


def _prepared(job: Job) -> Callable[[dict[str, Any]], Any] | str:
    """Returns the operation, after its module's `prepare()` where there is one; or a complaint."""
    gc.enable()
    name, _, function = job.operation.partition(":")
    try:
        module = importlib.import_module(name)
        if hasattr(module, "prepare"):
            module.prepare()
        operation: Callable[[dict[str, Any]], Any] = getattr(module, function)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:2000]
    return operation


def _call(job: Job, operation: Callable[[dict[str, Any]], Any]) -> Frame:
    try:
        blobs = [b""]
        folders = {"scratch": job.scratch, "builds": job.builds}
        results = pack(operation({**job.request, **folders}), blobs)
        # What the candidate's process says is text to all but the one who reads it last.
        blobs[0] = json.dumps(results).encode()
        if sum(len(blob) for blob in blobs) > job.limits.result_mib * MIB:
            message = f"the candidate's result is larger than {job.limits.result_mib} MiB"
            return {"failure": "output_too_large", "message": message}, []
        return {}, blobs
    except MemoryError:
        return {"failure": "out_of_memory", "message": "the candidate ran out of memory"}, []
    except SystemExit as error:
        return _crash(f"the candidate asked for the end of its process ({error.code!r})")
    except BaseException as error:
        return _crash(f"the tracer ended with {type(error).__name__}: {error}")


def _crash(message: str) -> Frame:
    document = {
        "failure": "crashed",
        "message": message[:2000],
        "traceback": traceback.format_exc()[-20_000:],
    }
    return document, []


def _write(descriptor: int, frame: Frame) -> None:
    data = memoryview(encode(*frame))
    while data:
        data = data[os.write(descriptor, data) :]
