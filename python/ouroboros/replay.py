"""Judging a recorded candidate again: does the record hold?"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, cast

from ouroboros._ouroboros import InvalidArgumentError, sha256
from ouroboros.language import Language
from ouroboros.referee import ProblemLike, Source, Stage, _read, verify
from ouroboros.verdict import CaseResult, Status, Verdict

__all__ = ["Replay", "replay"]

_TIMED_STAGES = ("time", "gate")


@dataclass(frozen=True)
class Replay:
    """What became of a recorded verdict.

    Attributes:
        recorded: The record.
        verdict: The new verdict, up to the sweep.
        cases_total: Cases in the record.
        cases_same: Cases whose result is the recorded one.
        differences: What does not reproduce, one sentence each.
    """

    recorded: Verdict
    verdict: Verdict
    cases_total: int
    cases_same: int
    differences: tuple[str, ...]

    @property
    def reproduced(self) -> bool:
        """Whether status and every case's result are the recorded ones."""
        return not self.differences

    def to_dict(self) -> dict[str, Any]:
        """Returns the outcome as plain data; the verdicts by their status alone."""
        return {
            "reproduced": self.reproduced,
            "recorded_status": self.recorded.status.value,
            "status": self.verdict.status.value,
            "cases_total": self.cases_total,
            "cases_same": self.cases_same,
            "differences": list(self.differences),
        }


def replay(
    record: Verdict | str | os.PathLike[str],
    *,
    source: Source | None = None,
    problem: ProblemLike | None = None,
) -> Replay:
    """Judges a recorded candidate again, with the recorded seed, up to the sweep.

    Args:
        record: A verdict, or the path of its JSON.
        source: The candidate, where it is not the recorded source.
        problem: The problem, where the record's origin does not lead to it: it was inline, or its
            file has moved.

    Returns:
        What is the same and what is not. Figures of cases have to agree exactly when compiler and
        module are the recorded ones; otherwise their results (passed or failed) have to.

    Raises:
        InvalidArgumentError: The record is no verdict, its problem was inline and none is given,
            or the source is not the recorded one.
    """
    recorded = record if isinstance(record, Verdict) else Verdict.load(record)
    if problem is None:
        problem = _problem_of(recorded)
    if source is None:
        source = recorded.source.encode("utf-8", "surrogateescape")
    text, _, _ = _read(source, recorded.candidate, None)
    if sha256(text) != recorded.source_sha256:
        raise InvalidArgumentError(
            "the source is not the one that was judged: its SHA-256 differs from the record's; "
            "give the original file with --source"
        )
    verdict = verify(
        text,
        problem,
        until=_stage_of(recorded),
        seed=int(recorded.provenance.seed, 16),
        dtypes=recorded.correctness.dtypes or None,
        name=recorded.candidate,
        language=cast(Language, recorded.language),
        target=recorded.compilation.target,
    )
    return compare(recorded, verdict)


def compare(recorded: Verdict, verdict: Verdict) -> Replay:
    """Compares a record with the verdict of its replay."""
    differences: list[str] = []
    expected = _expected_status(recorded)
    if verdict.status is not expected:
        differences.append(f"the status was {expected} and is {verdict.status}: {verdict.summary}")
    before, after = recorded.correctness.cases, verdict.correctness.cases
    if recorded.correctness.ran and len(before) != len(after):
        differences.append(f"there were {len(before)} cases, and there are {len(after)}")
    exact = recorded.compilation.image_sha256 == verdict.compilation.image_sha256
    same = 0
    for old, new in zip(before, after, strict=False):
        difference = _case_difference(old, new, exact)
        if difference is None:
            same += 1
        else:
            differences.append(f"case {old.id}: {difference}")
    return Replay(recorded, verdict, len(before), same, tuple(differences))


def _expected_status(recorded: Verdict) -> Status:
    """What the sweep alone said: a later stage may have changed the recorded status."""
    late = [one for one in recorded.findings if one.stage in _TIMED_STAGES]
    decided_late = any(one.severity in ("cheat", "error") for one in late)
    sweep = recorded.correctness
    passed = sweep.ran and sweep.cases_passed == sweep.cases_total
    return Status.ok if passed and decided_late else recorded.status


def _stage_of(recorded: Verdict) -> Stage:
    if recorded.correctness.ran or not recorded.compilation.succeeded:
        return "sweep"
    # Compiled and nothing more: either that was all that was asked for, or loading failed.
    return "compile" if recorded.status is Status.ok else "sweep"


def _case_difference(old: CaseResult, new: CaseResult, exact: bool) -> str | None:
    if (old.dtype, old.axes, old.family) != (new.dtype, new.axes, new.family):
        return "it is another case: the problem or the library has changed"
    if old.status != new.status:
        return f"was {old.status} and is {new.status} {new.message}".rstrip()
    if exact and (old.wrong_elements, old.max_abs_error) != (
        new.wrong_elements,
        new.max_abs_error,
    ):
        return (
            f"the largest error was {old.max_abs_error:.9g} in {old.wrong_elements} wrong "
            f"elements and is {new.max_abs_error:.9g} in {new.wrong_elements}"
        )
    return None


def _problem_of(recorded: Verdict) -> str:
    if recorded.problem_origin.startswith(("builtin:", "file:")):
        return recorded.problem_origin
    raise InvalidArgumentError(
        f"the problem '{recorded.problem}' was made inline: give it with --problem"
    )
