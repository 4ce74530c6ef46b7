"""The front door in Python: `verify` for one candidate, `Referee` for many."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

import torch

from ouroboros import _ouroboros, problems
from ouroboros._ouroboros import (
    Baseline,
    Compiled,
    DeviceOptions,
    GateRule,
    InvalidArgumentError,
    IOFailure,
    Limits,
    Problem,
    TimingPlan,
)
from ouroboros.as_called import with_as_called
from ouroboros.baselines import with_baselines
from ouroboros.language import PLAN_SUFFIX, Language, language_of, language_of_path
from ouroboros.problems.definition import Inputs
from ouroboros.problems.tensors import dtype_names
from ouroboros.trace.command import library_folders, make_live_tracer, make_tracer
from ouroboros.verdict import (
    Calibration,
    Compilation,
    Correctness,
    Finding,
    GateResult,
    Isolation,
    Status,
    Timing,
    Verdict,
)

__all__ = ["ProblemLike", "Referee", "Source", "Stage", "StageOutcome", "verify"]

Stage: TypeAlias = Literal["compile", "sweep", "time", "gate"]
Cache: TypeAlias = Literal["cold", "dirty", "hot", "rotated"]
Mode: TypeAlias = Literal["screen", "decide", "report"]

Source: TypeAlias = str | bytes | os.PathLike[str]
"""A source text, or the path of a file. A `str` of one line is a path when it ends in .cpp, .cc,
.cxx, .c++, .py, .cu or .ptx; any other `str` and all `bytes` are the source itself."""

ProblemLike: TypeAlias = Problem | str | os.PathLike[str]
"""A problem, the name of one that ships with the library, or the path of a file."""

_SUFFIXES = (".cpp", ".cc", ".cxx", ".c++", ".py", ".cu", ".ptx")


@dataclass(frozen=True)
class StageOutcome:
    """What one stage found out.

    Attributes:
        failure: The status that the stage imposes, or None when the next stage may run.
        record: The stage's part of a verdict.
        findings: What was noticed, with evidence.
        isolation: What the candidate was locked into; known after the sweep only.
    """

    failure: Status | None
    record: Compilation | Correctness | Timing | GateResult
    findings: tuple[Finding, ...]
    isolation: Isolation


class Referee:
    """Decides whether candidates compute what a problem's reference computes, and how fast.

    Thread-safe: one referee may judge from many threads at once; timed stretches queue. It can be
    pickled, so that trainers can send it to their workers.
    """

    def __init__(
        self,
        *,
        until: Stage = "time",
        dtypes: Sequence[str | torch.dtype] = (),
        seed: int | None = None,
        mode: Mode = "decide",
        cache: Cache = "cold",
        baselines: Sequence[str | Baseline] | None = None,
        limits: Limits | Mapping[str, float] | None = None,
        timing: TimingPlan | Mapping[str, Any] | None = None,
        gate: GateRule | Mapping[str, float] | None = None,
        as_called: bool = False,
        target: str = "",
        device: int = 0,
        compiler: str = "",
        scratch: str | os.PathLike[str] = "",
        traces: str | os.PathLike[str] = "",
        cancelled: Callable[[], bool] | None = None,
        log: Callable[[str], None] | None = None,
    ) -> None:
        """Keeps the options.

        Args:
            until: How far to judge: "compile", "sweep" (correctness), "time" or "gate".
            dtypes: Element types to judge, by name or as PyTorch's; empty for those that the
                candidate exports.
            seed: Seed of the cases. None takes a secret one, which the verdict reveals.
            mode: When timing stops: "screen" at the first look, "decide" on any decision,
                "report" on precision.
            cache: What a GPU's L2 cache holds when a timed call begins: "cold" is what is reported;
                "dirty", "hot" and "rotated" say how sensitive a kernel is.
            baselines: What to time against: "eager", "compile", on a GPU "max-autotune", or a
                `Baseline`; None for all of these.
            limits: What a candidate may use, e.g. ``{"replay_seconds": 1.0}``.
            timing: How many blocks to look at, and how sure to be.
            gate: What the stability gate asks for.
            as_called: Whether to measure what callers in Python pay as well, host included: some
                seconds for each verdict on a GPU candidate that was timed.
            target: Architecture that GPU candidates are compiled for, e.g. "sm_90"; empty for the
                GPU's own. Where there is no GPU they are swept in Triton's interpreter and neither
                timed nor sealed.
            device: Number of the GPU, as CUDA counts them.
            compiler: C++ compiler; empty for $CXX, then c++, g++, clang++.
            scratch: Parent of scratch folders; empty for the system's.
            traces: Folder in which timed cells and the gate's runs leave their blocks, as JSON;
                empty for nowhere.
            cancelled: Asked often; true ends a call with `CancelledError`.
            log: Gets diagnostics, one line a call.

        Raises:
            InvalidArgumentError: An option has an impossible value.
            IOFailure: The folders in which Python looks for Triton and CUDA cannot be read.
        """
        self._baselines = None if baselines is None else tuple(baselines)
        self._as_called = as_called
        self._settings: dict[str, Any] = {
            "until": until,
            "dtypes": dtype_names(dtypes),
            "seed": seed,
            "mode": mode,
            "cache": cache,
            "limits": _settings(limits, Limits),
            "timing": _settings(timing, TimingPlan),
            "gate": _settings(gate, GateRule),
            "device": {"ordinal": device, "target": target},
            "compiler": compiler,
            "scratch": os.fspath(scratch),
            "traces": os.fspath(traces),
            "cancelled": cancelled,
            "log": log,
        }
        self._native = self._make_native()

    def _make_native(self) -> _ouroboros.Referee:
        settings = dict(self._settings)
        for key, kind in (("limits", Limits), ("timing", TimingPlan), ("gate", GateRule)):
            settings[key] = kind(**settings[key])
        limits, scratch, cancelled = (settings[key] for key in ("limits", "scratch", "cancelled"))
        where = settings["device"]
        try:
            self._live_tracer = make_live_tracer(limits, where["ordinal"], scratch, cancelled)
            settings["device"] = DeviceOptions(
                **where,
                tracer=make_tracer(limits, where["target"], scratch, cancelled),
                live_tracer=self._live_tracer,
                libraries=library_folders(),
            )
        except OSError as error:
            raise IOFailure(
                f"Triton and CUDA cannot be looked for: {error}; where too many files are open, "
                "close some or raise their limit (ulimit -n)"
            ) from error
        return _ouroboros.Referee(_ouroboros.Options(**settings))

    def __getstate__(self) -> dict[str, Any]:
        return {
            "_settings": self._settings,
            "_baselines": self._baselines,
            "_as_called": self._as_called,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._native = self._make_native()

    def judge(
        self,
        problem: ProblemLike,
        source: Source,
        *,
        name: str | None = None,
        language: Language | None = None,
    ) -> Verdict:
        """Runs every stage and stops at the first that fails.

        Faults of the candidate, of the problem and of the machine are in the verdict; only misuse
        and cancellation raise. Ctrl-C works.

        Args:
            problem: What the candidate has to compute.
            source: The candidate: its text or its path.
            name: Its name in records; by default the file's.
            language: "cpp", "triton", "python", "cuda" or "ptx"; None to tell it from the suffix or
                the text, which takes all Python for Triton.

        Returns:
            The verdict.

        Raises:
            InvalidArgumentError: The problem is malformed.
            NotFoundError: There is no such problem.
            IOFailure: The candidate's file cannot be read.
            CancelledError: The `cancelled` hook said so.
        """
        return self._judge(problem, source, name, language, None)

    def compare(
        self,
        problem: ProblemLike,
        a: Source | Baseline,
        b: Source | Baseline,
        *,
        cells: Sequence[Mapping[str, int]] | None = None,
    ) -> Verdict:
        """Times `a` against `b` alone: both on a GPU, or both on the host.

        Args:
            problem: What both compute. It gives the inputs, and what is correct on them.
            a: A candidate, which is judged first; or a launch plan: a `.plan` file, or a `Baseline`
                that has plans.
            b: What to time it against.
            cells: Axes of the cells to time, e.g. ``[{"rows": 8192, "cols": 4096}]``; None for
                those of the problem.

        Returns:
            A verdict on `a` with `b` as its only baseline.

        Raises:
            InvalidArgumentError: `b` cannot be compiled, or a cell has no such axis.
            UnsupportedError: One is host code and the other is not; or there is no GPU.
        """
        loaded = problems.load(problem)
        first, second = _side(a, "A"), _side(b, "B")
        if cells is not None:
            on_host = not isinstance(first, Baseline) and first[2] == "cpp"
            timed = loaded.with_timed if on_host else loaded.with_timed_gpu
            loaded = timed([dict(cell) for cell in cells])
        return Verdict.from_json(self._native.compare_json(loaded, first, second))

    def calibrate(self, *, fresh: bool = False) -> Calibration:
        """Returns what the GPU's clock can and cannot resolve; measured once for each boot.

        Args:
            fresh: Measure anew.

        Raises:
            UnsupportedError: There is no GPU.
        """
        return Calibration.model_validate_json(self._native.calibrate_json(fresh))

    async def ajudge(
        self,
        problem: ProblemLike,
        source: Source,
        *,
        name: str | None = None,
        language: Language | None = None,
    ) -> Verdict:
        """As `judge`, in a thread of its own. Cancelling the task stops the judging."""
        stop = threading.Event()
        try:
            return await asyncio.to_thread(
                self._judge, problem, source, name, language, stop.is_set
            )
        finally:
            stop.set()

    def judge_batch(
        self, problem: ProblemLike, sources: Iterable[Source], *, workers: int | None = None
    ) -> list[Verdict]:
        """Judges many candidates for one problem, all on the same secret cases.

        What the reference and the oracle make of the cases is computed once. The verdicts hold
        their seed: they come all together, when no candidate can gain by it any more.

        Args:
            problem: What the candidates have to compute.
            sources: The candidates.
            workers: Threads; compiling and sweeping overlap, timing does not. By default one for
                each processor, and at most four.

        Returns:
            The verdicts, in the order of the candidates.
        """
        loaded = problems.load(problem)
        if workers is None:
            workers = min(4, len(os.sched_getaffinity(0)))
        stop = threading.Event()
        cases = self._native.share_cases(loaded)
        with ThreadPoolExecutor(max_workers=max(1, workers)) as pool:
            futures = [
                pool.submit(self._judge, loaded, source, None, None, stop.is_set, cases)
                for source in sources
            ]
            try:
                return [future.result() for future in futures]
            finally:
                stop.set()
                pool.shutdown(cancel_futures=True)

    def validate(self, problem: ProblemLike) -> str | None:
        """Judges the problem itself.

        Returns:
            One sentence that says what is wrong with it, or None when it is sound.
        """
        return self._native.validate(problems.load(problem))

    def compile(
        self,
        problem: ProblemLike,
        source: Source,
        *,
        name: str | None = None,
        language: Language | None = None,
    ) -> Compiled:
        """Compiles a candidate for the other stages; `compiled.failure` says whether it failed."""
        text, known_as, written_in = _read(source, name, language)
        return self._native.compile(problems.load(problem), text, known_as, written_in)

    def compilation(self, compiled: Compiled) -> StageOutcome:
        """Returns what compiling found out."""
        text, failure = compiled.to_json()
        return _outcome(text, failure, "compilation")

    def inspect(self, compiled: Compiled) -> tuple[Finding, ...]:
        """Returns what a compiled module gives away before it runs."""
        return Verdict.from_json(self._native.inspect(compiled)).findings

    def sweep(self, problem: ProblemLike, compiled: Compiled) -> StageOutcome:
        """Runs the correctness stage alone."""
        text, failure = self._native.sweep(problems.load(problem), compiled)
        return _outcome(text, failure, "correctness")

    def time(self, problem: ProblemLike, compiled: Compiled) -> StageOutcome:
        """Runs the timing stage alone."""
        ready = with_baselines(
            problems.load(problem), self._baselines, cast(Language, compiled.language)
        )
        text, failure = self._native.time(ready, compiled)
        return _outcome(text, failure, "timing")

    def gate(self, problem: ProblemLike, compiled: Compiled) -> StageOutcome:
        """Runs the stability gate alone."""
        ready = with_baselines(
            problems.load(problem), self._baselines, cast(Language, compiled.language)
        )
        text, failure = self._native.gate(ready, compiled)
        return _outcome(text, failure, "gate")

    def _judge(
        self,
        problem: ProblemLike,
        source: Source,
        name: str | None,
        language: Language | None,
        stop: Callable[[], bool] | None,
        cases: _ouroboros.SharedCases | None = None,
    ) -> Verdict:
        text, known_as, written_in = _read(source, name, language)
        loaded = problems.load(problem)
        if self._settings["until"] in ("time", "gate"):
            loaded = with_baselines(loaded, self._baselines, written_in)
        verdict = Verdict.from_json(
            self._native.judge_json(
                loaded, text, name=known_as, language=written_in, cancelled=stop, cases=cases
            )
        )
        if not self._as_called:
            return verdict
        hooks = [hook for hook in (stop, self._settings["cancelled"]) if hook is not None]
        return with_as_called(
            verdict,
            loaded,
            text,
            self._live_tracer,
            ordinal=self._settings["device"]["ordinal"],
            cancelled=(lambda: any(hook() for hook in hooks)) if hooks else None,
        )


def verify(
    source: Source,
    problem: ProblemLike | Callable[..., Any],
    *,
    inputs: Inputs | None = None,
    dtypes: Sequence[str | torch.dtype] | None = None,
    until: Stage = "time",
    seed: int | None = None,
    mode: Mode = "decide",
    gate: bool | GateRule | Mapping[str, float] = False,
    as_called: bool = False,
    baselines: Sequence[str | Baseline] | None = None,
    limits: Limits | Mapping[str, float] | None = None,
    timing: TimingPlan | Mapping[str, Any] | None = None,
    target: str = "",
    device: int = 0,
    compiler: str = "",
    scratch: str | os.PathLike[str] = "",
    cancelled: Callable[[], bool] | None = None,
    log: Callable[[str], None] | None = None,
    name: str | None = None,
    language: Language | None = None,
    **problem_options: Any,
) -> Verdict:
    """Judges one candidate.

    Args:
        source: The candidate: its text or its path.
        problem: The name of a problem that ships with the library, a file, a `Problem`, or a
            function on tensors together with `inputs`.
        inputs: For a function: the shape of each input, e.g. ``{"x": "rows cols"}``.
        dtypes: Element types to judge, by name or as PyTorch's; for a function also those of the
            problem. By default those that the candidate exports.
        until: How far to judge: "compile", "sweep" (correctness), "time" or "gate".
        seed: Seed of the cases. None takes a secret one, which the verdict reveals.
        mode: When timing stops: "screen" at the first look, "decide" on any decision,
            "report" on precision.
        gate: Whether to run the stability gate as well, or its rule.
        as_called: Whether to measure what callers in Python pay as well, host included.
        baselines: What to time against: "eager", "compile", on a GPU "max-autotune", or a
            `Baseline`; None for all of these.
        limits: What the candidate may use, e.g. ``{"replay_seconds": 1.0}``.
        timing: How many blocks to look at, and how sure to be.
        target: Architecture that GPU candidates are compiled for; empty for the GPU's own.
        device: Number of the GPU, as CUDA counts them.
        compiler: C++ compiler; empty for $CXX, then c++, g++, clang++.
        scratch: Parent of scratch folders; empty for the system's.
        cancelled: Asked often; true ends the call with `CancelledError`.
        log: Gets diagnostics, one line a call.
        name: The candidate's name in records; by default the file's.
        language: "cpp", "triton", "python", "cuda" or "ptx"; None to tell it from the suffix or
                the text, which takes all Python for Triton.
        **problem_options: For a function: what else `ouroboros.problems.from_callable` takes,
            such as ``timed`` or ``oracle``.

    Returns:
        The verdict. What the candidate did wrong is its status, never an exception.

    Raises:
        InvalidArgumentError: The problem is malformed, or an option has an impossible value.
        NotFoundError: There is no such problem.
        IOFailure: The candidate's file cannot be read.
        CancelledError: The `cancelled` hook said so.
    """
    if isinstance(problem, (Problem, str, os.PathLike)):
        if inputs is not None or problem_options:
            named = "inputs" if inputs is not None else next(iter(problem_options))
            raise InvalidArgumentError(
                f"'{named}' describes a function on tensors, and the problem is none"
            )
        loaded = problems.load(problem)
    else:
        loaded = problems.from_callable(problem, inputs=inputs, dtypes=dtypes, **problem_options)
    referee = Referee(
        until="gate" if gate is not False else until,
        dtypes=dtypes or (),
        seed=seed,
        mode=mode,
        baselines=baselines,
        limits=limits,
        timing=timing,
        gate=None if isinstance(gate, bool) else gate,
        as_called=as_called,
        target=target,
        device=device,
        compiler=compiler,
        scratch=scratch,
        cancelled=cancelled,
        log=log,
    )
    return referee.judge(loaded, source, name=name, language=language)


def _settings(
    given: Limits | TimingPlan | GateRule | Mapping[str, Any] | None, kind: type
) -> dict[str, Any]:
    """Turns options into plain data, which pickles."""
    if given is None:
        return {}
    if isinstance(given, Mapping):
        return dict(given)
    if not isinstance(given, kind):
        raise InvalidArgumentError(
            f"expected ouroboros.{kind.__name__} or a mapping, not {type(given).__name__}"
        )
    names = [name for name, value in vars(kind).items() if isinstance(value, property)]
    return {name: getattr(given, name) for name in names}


def _read(
    source: Source, name: str | None, language: Language | None
) -> tuple[bytes, str, Language]:
    """Returns a candidate's source, its name and its language."""
    if isinstance(source, str) and ("\n" in source or not source.endswith(_SUFFIXES)):
        source = source.encode("utf-8", "surrogateescape")
    if isinstance(source, bytes):
        return source, name or "candidate", language or language_of(source)
    text, file_name = _ouroboros.read_candidate(os.fspath(source))
    return text, name or file_name, language or language_of_path(os.fspath(source))


def _side(source: Source | Baseline, fallback: str) -> tuple[bytes, str, str] | Baseline:
    """Returns one side of a comparison as the native referee takes it."""
    if isinstance(source, Baseline):
        return source
    if isinstance(source, str | os.PathLike) and os.fspath(source).endswith(PLAN_SUFFIX):
        path = Path(source)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise IOFailure(f"the plan {path} cannot be read: {error.strerror}") from error
        return Baseline(path.stem, plan=lambda signature: data)
    text, name, language = _read(source, None, None)
    return text, fallback if name == "candidate" else name, language


def _outcome(
    text: str,
    failure: str | None,
    part: Literal["compilation", "correctness", "timing", "gate"],
) -> StageOutcome:
    verdict = Verdict.from_json(text)
    return StageOutcome(
        failure=None if failure is None else Status(failure),
        record=getattr(verdict, part),
        findings=verdict.findings,
        isolation=verdict.isolation,
    )
