"""Baselines for GPU candidates: launch plans of what PyTorch does, stored or traced anew."""

from __future__ import annotations

import atexit
import functools
import hashlib
import importlib.metadata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from ouroboros._ouroboros import Baseline, Problem, UnsupportedError, __version__, cuda_devices
from ouroboros.trace.baseline_client import BaselineWorker, Unavailable, problem_document
from ouroboros.trace.store import PlanStore

__all__ = ["plan_baseline"]


def plan_baseline(problem: Problem, kind: str) -> Baseline:
    """Returns a baseline that is a launch plan: "eager", "compile" or "max-autotune".

    Plans are traced by a process of their own, which this one starts when the first is wanted, and
    kept on disk for each problem, shape, dtype, GPU, driver, PyTorch and Triton. A reference that
    cannot be sent to that process, or traced, makes the baseline unavailable, with the reason in
    the verdict.
    """
    origin, reference = problem.origin, problem.reference

    def plan(signature: Sequence[Mapping[str, Any]]) -> bytes:
        try:
            document = problem_document(origin, reference)
        except ValueError as error:
            raise UnsupportedError(str(error)) from error
        inputs = [
            {key: one[key] for key in ("name", "dtype", "shape", "strides")}
            for one in signature
            if one["role"] == "input"
        ]
        outputs = [one["name"] for one in signature if one["role"] == "output"]
        key = _key(document, inputs, outputs, kind)
        found = _store().get(key)
        if found is None:
            answer = _worker().trace(document, inputs, outputs, kind)
            if isinstance(answer, Unavailable):
                raise UnsupportedError(answer.reason)
            found = answer.plan
            _store().put(key, found)
        return found

    return Baseline(kind, plan=plan)


def _key(
    document: Mapping[str, str], inputs: Sequence[object], outputs: Sequence[str], kind: str
) -> dict[str, Any]:
    devices, _ = cuda_devices()
    gpu = devices[0] if devices else {"name": "", "driver_version": 0}
    identity = dict(document)
    origin = identity.get("origin", "")
    if origin.startswith("file:"):
        # What is in a file may change under its name.
        path = Path(origin.removeprefix("file:"))
        if not path.exists():
            path = Path(str(path).rpartition(":")[0])  # "file:PATH:NAME"
        identity["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    return {
        "problem": identity,
        "library": __version__,
        "inputs": list(inputs),
        "outputs": list(outputs),
        "kind": kind,
        "gpu": gpu["name"],
        "driver": gpu["driver_version"],
        "torch": torch.__version__,
        "triton": _version("triton"),
    }


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


@functools.cache
def _store() -> PlanStore:
    return PlanStore()


@functools.cache
def _worker() -> BaselineWorker:
    worker = BaselineWorker()
    atexit.register(worker.close)
    return worker
