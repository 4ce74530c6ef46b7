"""As-called times in a verdict: asked of a tracer's process, checked, and filled in.

The process ran the candidate's code, so what it says is a claim. Nothing here changes a status, a
time of the device or a reward. docs/timing.md says what the figures mean.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
import secrets
import stat
import sys
import time
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cloudpickle

from ouroboros._ouroboros import (
    CancelledError,
    Input,
    OuroborosError,
    Problem,
    Tracer,
    trimmed_interval,
)
from ouroboros.language import DEVICE_LANGUAGES
from ouroboros.trace.baseline_client import problem_document
from ouroboros.verdict import (
    BaselineTiming,
    Finding,
    Interval,
    Status,
    TimedCell,
    Verdict,
    cell_name,
)

__all__ = ["Figures", "figures_of", "gpu_lock", "merged", "why_not", "with_as_called"]

_HOST_CODE = ("triton", "python")
ARMS = ("candidate", "eager", "compile")  # As `ouroboros.trace.as_called.ARMS`.
_LEAST_BLOCKS = 4
_MOST_BLOCKS = 1024
_LONGEST_US = 1e9
_LARGEST_REFERENCE = 32 << 20
_LONGEST_REASON = 300
_LOCK_POLL_SECONDS = 0.02
_FILE_MODULES = "_ouroboros_problem_"

Cancelled = Callable[[], bool]


class _NoFigureError(Exception):
    """There is no as-called time; one sentence says why."""


@dataclass(frozen=True)
class Figures:
    """As-called times of one cell.

    Attributes:
        candidate_us: Of the candidate.
        baselines: Of "eager" and "compile", as far as they ran: time and ratio.
        notes: Why one of them did not.
    """

    candidate_us: Interval
    baselines: Mapping[str, tuple[Interval, Interval]]
    notes: tuple[str, ...] = ()


@dataclass
class _Outcome:
    """What came of all cells of a verdict."""

    figures: list[Figures | None]
    reasons: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    missing: list[str] = field(default_factory=list)


def with_as_called(
    verdict: Verdict,
    problem: Problem,
    source: bytes,
    tracer: Tracer,
    *,
    ordinal: int = 0,
    cancelled: Cancelled | None = None,
) -> Verdict:
    """Returns a verdict with as-called times in its cells, or with a note that says why not.

    Args:
        verdict: On the candidate. One that is not "ok" comes back as it is.
        problem: That it was judged on.
        source: The candidate.
        tracer: Whose children use the GPU.
        ordinal: Number of that GPU.
        cancelled: Asked often; true ends the call.

    Raises:
        CancelledError: The hook said so.
    """
    if verdict.status is not Status.ok:
        return verdict
    if reason := why_not(verdict):
        return _unavailable(verdict, reason)
    cells = verdict.timing.cells
    try:
        seed = secrets.randbits(63)
        sent = _sent(problem)
        documents = [_document(problem, cell, sent, seed) for cell in cells]
        with gpu_lock(ordinal, cancelled):
            results = tracer.trace(
                source,
                operation="as_called",
                target="",
                signatures=[_signature(problem, cell) for cell in cells],
                outputs=list(problem.outputs),
                values=[[json.dumps(document).encode()] for document in documents],
                name=verdict.candidate,
                language=verdict.language,
                cancelled=cancelled,
            )
    except CancelledError:
        raise
    except (_NoFigureError, OuroborosError) as error:
        return _unavailable(verdict, str(error))
    return merged(verdict, results)


def why_not(verdict: Verdict) -> str:
    """Returns why a candidate that is right has no as-called time; empty if it may have one."""
    if verdict.language not in DEVICE_LANGUAGES:
        return f"as-called time is of GPU candidates; this one is in {verdict.language}"
    if verdict.language not in _HOST_CODE:
        return f"a candidate in {verdict.language} has no host code in Python to call"
    if not verdict.timing.ran or not verdict.timing.cells:
        return "nothing was timed on a GPU"
    return ""


def merged(verdict: Verdict, results: Sequence[Mapping[str, Any]]) -> Verdict:
    """Returns the verdict with what a tracer returned for its cells."""
    cells = verdict.timing.cells
    found = _Outcome([])
    for cell, result in zip(cells, results, strict=True):
        found.missing = list(result["missing"])
        try:
            figures = figures_of(result)
        except _NoFigureError as error:
            found.figures.append(None)
            found.reasons[str(error)].append(cell_name(cell))
            continue
        found.figures.append(figures)
        for note in figures.notes:
            found.reasons[note].append(cell_name(cell))
    filled = tuple(
        cell if one is None else _filled(cell, one)
        for cell, one in zip(cells, found.figures, strict=True)
    )
    notes = [
        _note(
            "as_called_unavailable",
            reason if len(where) == len(cells) else f"{'; '.join(where)}: {reason}",
        )
        for reason, where in found.reasons.items()
    ]
    if any(one is not None for one in found.figures):
        claim = (
            "as-called times are a claim of the process in which the candidate's code ran; no "
            "decision and no reward rests on them"
        )
        lacked = f"; not in force there: {'; '.join(found.missing)}" if found.missing else ""
        notes.insert(0, _note("as_called", claim + lacked))
    timing = verdict.timing.model_copy(update={"cells": filled})
    return verdict.model_copy(update={"timing": timing, "findings": (*verdict.findings, *notes)})


def figures_of(result: Mapping[str, Any]) -> Figures:
    """Returns the figures of one cell.

    Raises:
        _NoFigureError: There are none, or what was returned is no list of times.
    """
    if (refusal := result["refusal"]) is not None:
        raise _NoFigureError(_short(refusal["message"]) or refusal["kind"])
    outputs = result["outputs"]
    if len(outputs) != len(ARMS):
        raise _NoFigureError("its process returned no times")
    blocks = {arm: _blocks(one) for arm, one in zip(ARMS, outputs, strict=True)}
    candidate = blocks.pop("candidate")
    if len(candidate) < _LEAST_BLOCKS:
        raise _NoFigureError("its process returned no times")
    baselines = {}
    for arm, other in blocks.items():
        if not other:
            continue
        if len(other) != len(candidate):
            raise _NoFigureError("its process returned unequal numbers of times")
        baselines[arm] = (_mean(other), _ratio(candidate, other))
    return Figures(_mean(candidate), baselines, tuple(_short(one) for one in result["notes"]))


def _blocks(output: Mapping[str, Any]) -> list[tuple[float, float]]:
    shape = list(output["shape"])
    if output["dtype"] != "float64" or len(shape) != 2 or shape[1] != 2 or shape[0] > _MOST_BLOCKS:
        raise _NoFigureError("its process returned something else than times")
    values = array("d", output["bytes"])
    if not all(0 < value < _LONGEST_US for value in values):
        raise _NoFigureError("its process returned times that are none")
    return list(zip(values[::2], values[1::2], strict=True))


def _mean(blocks: Sequence[tuple[float, float]]) -> Interval:
    estimate, low, high = trimmed_interval([(first + second) / 2 for first, second in blocks])
    return Interval(estimate=estimate, low=low, high=high)


def _ratio(
    candidate: Sequence[tuple[float, float]], other: Sequence[tuple[float, float]]
) -> Interval:
    """The baseline's time over the candidate's, from the blocks' differences of mean logarithms."""
    logs = [
        (math.log(b[0]) + math.log(b[1]) - math.log(a[0]) - math.log(a[1])) / 2
        for a, b in zip(candidate, other, strict=True)
    ]
    estimate, low, high = (math.exp(one) for one in trimmed_interval(logs))
    return Interval(estimate=estimate, low=low, high=high)


def _filled(cell: TimedCell, figures: Figures) -> TimedCell:
    baselines = tuple(_filled_baseline(one, figures) for one in cell.baselines)
    return cell.model_copy(update={"as_called_us": figures.candidate_us, "baselines": baselines})


def _filled_baseline(baseline: BaselineTiming, figures: Figures) -> BaselineTiming:
    if baseline.name not in figures.baselines:
        return baseline
    time_us, ratio = figures.baselines[baseline.name]
    return baseline.model_copy(update={"as_called_us": time_us, "as_called_speedup": ratio})


def _unavailable(verdict: Verdict, reason: str) -> Verdict:
    note = _note("as_called_unavailable", _short(reason))
    return verdict.model_copy(update={"findings": (*verdict.findings, note)})


def _note(kind: str, evidence: str) -> Finding:
    return Finding(kind=kind, severity="note", stage="time", evidence=evidence)


def _short(text: object) -> str:
    return str(text).strip()[:_LONGEST_REASON]


def _sizes(problem: Problem, cell: TimedCell) -> dict[str, int]:
    return {one.name: one.fixed for one in problem.axes if one.fixed is not None} | cell.axes


def _signature(problem: Problem, cell: TimedCell) -> list[tuple[str, str, list[int]]]:
    sizes = _sizes(problem, cell)
    return [
        (one.name, one.dtype or cell.dtype, [_extent(extent, sizes) for extent in one.shape])
        for one in problem.inputs
    ]


def _extent(extent: str | int, sizes: Mapping[str, int]) -> int:
    """An extent as `Input.shape` has it: 64, "rows" or "2*half"."""
    if isinstance(extent, int):
        return extent
    scale, star, axis = extent.partition("*")
    return int(scale) * sizes[axis] if star else sizes[extent]


def _bound(one: Input, sizes: Mapping[str, int]) -> int | None:
    """The first number that is no index, length, offset or place of a permutation any more."""
    if not one.index_axis:
        return None
    extent = sizes[one.index_axis]
    return extent + 1 if one.values in ("length", "offsets") else extent


def _document(
    problem: Problem, cell: TimedCell, sent: Mapping[str, str], seed: int
) -> dict[str, Any]:
    sizes = _sizes(problem, cell)
    return {
        "problem": dict(sent),
        "baselines": [one.name for one in cell.baselines if one.name in ARMS],
        "seed": seed,
        "inputs": [{"values": one.values, "bound": _bound(one, sizes)} for one in problem.inputs],
    }


def _sent(problem: Problem) -> dict[str, str]:
    """How the problem is named to a process that reads no files of the caller's."""
    origin = problem.origin
    modules = []
    if origin.startswith("file:"):
        origin = "inline"
        # The process cannot import what was read from a file: its functions travel by value.
        modules = [module for name, module in sys.modules.items() if name.startswith(_FILE_MODULES)]
    with contextlib.ExitStack() as stack:
        for module in modules:
            cloudpickle.register_pickle_by_value(module)
            stack.callback(cloudpickle.unregister_pickle_by_value, module)
        try:
            document = problem_document(origin, problem.reference)
        except ValueError as error:
            raise _NoFigureError(str(error)) from error
    if len(document.get("pickle", "")) > _LARGEST_REFERENCE:
        raise _NoFigureError("the reference holds more than can be sent to another process")
    return document


@contextlib.contextmanager
def gpu_lock(ordinal: int, cancelled: Cancelled | None = None) -> Iterator[None]:
    """Holds the lock file that all referees of this machine share for a GPU.

    As src/referee/device/gpu_lock.cpp takes it to time: nobody else uses the GPU meanwhile, and
    while this waits nobody else begins to. Where the files cannot be had there is no lock.

    Raises:
        CancelledError: The hook said so.
    """
    with contextlib.ExitStack() as held:
        with contextlib.ExitStack() as queue:
            _lock(queue, f"ouroboros-gpu-{ordinal}.queue", cancelled)
            _lock(held, f"ouroboros-gpu-{ordinal}.lock", cancelled)
        yield


def _lock(stack: contextlib.ExitStack, name: str, cancelled: Cancelled | None) -> None:
    """Locks a file for as long as the stack lives; none where it cannot be had."""
    variables = (os.environ.get(one) for one in ("TMPDIR", "TMP", "TEMP", "TEMPDIR"))
    folder = next((one for one in variables if one), "/tmp")
    with contextlib.suppress(OSError):
        flags = os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
        file = os.open(Path(folder, name), flags, 0o666)
        stack.callback(os.close, file)
        while stat.S_ISREG(os.fstat(file).st_mode):
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if cancelled is not None and cancelled():
                    raise CancelledError("cancelled while waiting for the GPU") from None
                time.sleep(_LOCK_POLL_SECONDS)
