"""The record of what the referee found out: `Verdict` and its parts.

The models mirror the JSON key by key; docs/verdict.md describes every key. They are frozen, and an
unknown or missing key is an error, so a record that loads is complete. Only keys that joined
version 1 later may be missing: they have a default that says "not measured".
"""

from __future__ import annotations

import html
import math
import os
import re
from collections.abc import Iterable
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    PlainSerializer,
    ValidationError,
    WithJsonSchema,
)

from ouroboros import _ouroboros

__all__ = [
    "BaselineTiming",
    "Calibration",
    "CaseResult",
    "Compilation",
    "CopyPoint",
    "Correctness",
    "Finding",
    "FlushSize",
    "GateResult",
    "GpuState",
    "Interval",
    "Isolation",
    "Provenance",
    "RewardPolicy",
    "Status",
    "TimedCell",
    "Timing",
    "Verdict",
]

_NAMED_FLOATS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def _float_from_json(value: object) -> object:
    return _NAMED_FLOATS.get(value, value) if isinstance(value, str) else value


def _float_to_json(value: float) -> float | str:
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


Number = Annotated[
    float,
    BeforeValidator(_float_from_json),
    PlainSerializer(_float_to_json, when_used="json"),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"enum": list(_NAMED_FLOATS)}]}),
]
"""A float. JSON has no number for NaN and the infinities, so there they are strings."""


class Status(str, Enum):
    """What a verdict says. The first six speak of the candidate, the last two never do."""

    ok = "ok"
    """Correct on every case, and timed if that was asked for."""
    compile_error = "compile_error"
    """Did not compile, or cannot be loaded."""
    runtime_error = "runtime_error"
    """Crashed, or ended its process."""
    incorrect = "incorrect"
    """Wrong values, shapes, NaN positions, or results that depend on luck."""
    rejected = "rejected"
    """Caught gaming the measurement: see `Verdict.findings`."""
    timeout = "timeout"
    """Ran past its time."""
    invalid_problem = "invalid_problem"
    """The problem cannot tell right from wrong, or its reference fails."""
    infrastructure_error = "infrastructure_error"
    """The machine or this library failed."""

    def __str__(self) -> str:
        return self.value

    @property
    def is_candidate_fault(self) -> bool:
        """Whether the candidate is to blame: all but ok and the infrastructure's faults."""
        return self is not Status.ok and not self.is_infrastructure_fault

    @property
    def is_infrastructure_fault(self) -> bool:
        """Whether nothing was learnt about the candidate."""
        return self in (Status.invalid_problem, Status.infrastructure_error)


class _Record(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, use_attribute_docstrings=True
    )


class Interval(_Record):
    """An estimate with its confidence interval."""

    estimate: Number
    """The best guess."""
    low: Number
    """Lower end."""
    high: Number
    """Upper end."""


_NOT_MEASURED = Interval(estimate=0.0, low=0.0, high=0.0)


class KernelUse(_Record):
    """A kernel of a launch plan, as compiled and as launched."""

    function: str
    """Its name in the module."""
    origin: str
    """"candidate" or "library"."""
    launches: int
    """Launches in one call."""
    device_time_share: Number
    """Share of the device's time in the sweep, 0 to 1; 0 where nothing ran on a GPU."""
    registers: int
    """Registers of a thread."""
    stack_bytes: int
    """Local memory of a thread in bytes: arrays and spills."""
    shared_bytes: int
    """Static shared memory of a block in bytes."""
    shared_dynamic_bytes: int
    """Dynamic shared memory of a block in bytes, in the first launch."""
    grid: tuple[int, ...]
    """Blocks of the first launch: x, y, z."""
    block: tuple[int, ...]
    """Threads of a block: x, y, z."""
    cluster: tuple[int, ...]
    """Blocks of a cluster: x, y, z."""


class Compilation(_Record):
    """What the compiler made of the source."""

    ran: bool
    """False when the candidate was not compiled; the other keys then mean nothing."""
    succeeded: bool
    """A module was made."""
    compiler: str
    """The compiler's version line."""
    flags: tuple[str, ...]
    """The referee's flags."""
    duration_ms: Number
    """Wall time in milliseconds."""
    image_bytes: int
    """Size of the module in bytes."""
    image_sha256: str
    """SHA-256 of the module, in hexadecimal."""
    entries: tuple[str, ...]
    """Exported entry points; on a GPU those that were traced."""
    target: str
    """Architecture of a GPU candidate, for example "sm_90"; empty on the host."""
    variants: tuple[str, ...]
    """Autotune configurations of the first plan, in words."""
    kernels: tuple[KernelUse, ...]
    """The kernels of a GPU candidate."""
    log: str
    """The compiler's diagnostics, cut at a limit."""


class CaseResult(_Record):
    """One correctness case."""

    id: int
    """Number of the case in its verdict."""
    dtype: str
    """Element type, for example "float32"."""
    axes: dict[str, int]
    """Size of each axis by name."""
    family: str
    """The kind of values that the inputs had."""
    placement: str
    """Ends of the guarded pages that the buffers touched: "low", "high" or "both"."""
    status: str
    """"passed", "failed" or "not_run"."""
    output: str
    """Output of the worst element."""
    max_abs_error: Number
    """Largest absolute error against the float64 oracle."""
    reference_max_abs_error: Number
    """The reference's own largest error in the case's dtype."""
    error_over_allowed: Number
    """Largest ratio of error to allowed error; above 1 fails."""
    wrong_elements: int
    """Elements whose error is not allowed."""
    elements: int
    """Elements that were compared."""
    message: str
    """Where and how it failed; empty for a passed case."""


class Correctness(_Record):
    """The sweep over cases."""

    ran: bool
    """False when no case ran; the other keys then mean nothing."""
    cases_total: int
    """Cases that were drawn."""
    cases_passed: int
    """Cases that passed."""
    max_error_over_allowed: Number
    """Largest `error_over_allowed` of all cases."""
    dtypes: tuple[str, ...]
    """Element types that were judged."""
    dtypes_missing: tuple[str, ...]
    """Element types of the problem that the candidate does not export."""
    cases: tuple[CaseResult, ...]
    """Every case, in order."""


class FlushSize(_Record):
    """What a flush of one size does: a cold copy after it."""

    bytes: int
    """Bytes that the flush reads."""
    read_us: Interval
    """The copy's time in microseconds after that flush."""


class CopyPoint(_Record):
    """The rate of a copy on this GPU, at one size and one mix of reads and writes."""

    reads: int
    """Parts read: reads to writes is the mix."""
    writes: int
    """Parts written."""
    bytes: int
    """Bytes read and written together."""
    gbps: Interval
    """Rate in 10^9 bytes a second."""


class Calibration(_Record):
    """What the clock is worth on this GPU: measured once in each process."""

    device: str
    """The GPU's name."""
    driver_version: str
    """Version of its driver."""
    measured_at: str
    """UTC, ISO 8601."""
    tick_ns: Number
    """Of which times between events are whole multiples, in nanoseconds."""
    tick_error_ns: Number = 0.0
    """Half of its 95 % interval, from how far they are from that."""
    launch_us: dict[str, Interval]
    """What a launch adds to a kernel of ten microseconds, in microseconds, by submission."""
    gap_us: dict[str, Interval] = {}
    """From the end of one kernel to the begin of the next in microseconds, by submission."""
    empty_us: dict[str, Interval]
    """All of an empty kernel's time between events in microseconds, by submission."""
    flush_us: Interval
    """Time of one pass of the clean flush in microseconds."""
    flush_bytes: int
    """Bytes that the flush reads."""
    flush_sizes: tuple[FlushSize, ...]
    """A cold copy after flushes of several sizes."""
    dirty_copy_us: Interval
    """The copy in microseconds after a flush that writes: the cache is dirty."""
    clean_copy_us: Interval
    """The same copy after the clean flush."""
    hot_copy_us: Interval
    """The same copy without a flush."""
    globaltimer_step_ns: Number
    """The smallest step of the device's own timer in nanoseconds."""
    globaltimer_step_error_ns: Number = 0.0
    """How far apart several looks at it were."""
    peak_gbps: Number
    """Rate of the memory's pins by its attributes; 0 where the driver does not say."""
    copy_curve: tuple[CopyPoint, ...]
    """Measured rates of copies, by size and mix."""
    aa_speedup: Interval
    """A copy against itself, in blocks as everything else: it should contain 1."""
    notes: tuple[str, ...]
    """What of this is wrong or missing, one sentence each."""

    @property
    def least_claim(self) -> float:
        """The least ratio above 1 that may be claimed.

        Twice as far from 1 as a copy against itself may be. The stability gate has such a bound of
        its own, from the candidate's copies.
        """
        return 1 + 2 * max(abs(self.aa_speedup.low - 1), abs(self.aa_speedup.high - 1))


class GpuState(_Record):
    """What the GPU's management library said at one moment."""

    sm_clock_mhz: int
    """Clock of the multiprocessors."""
    sm_clock_max_mhz: int
    """The most that it can be."""
    memory_clock_mhz: int
    """Clock of the memory."""
    power_w: Number
    """Power that was drawn in watts."""
    power_limit_w: Number
    """The limit in force in watts."""
    temperature_c: int
    """Temperature in degrees Celsius."""
    slowdowns: tuple[str, ...]
    """Reasons for which the clocks are held down, for example "sw_power_cap"."""
    clocks_locked: bool
    """Somebody fixed the clocks."""
    power_violation_ns: int
    """For how long power has held the clocks down since the driver started, in nanoseconds."""
    thermal_violation_ns: int
    """For how long heat has."""
    other_processes: int
    """Processes of others on the GPU."""
    shared: bool
    """The GPU is partitioned (MIG) or shared by MPS."""
    reason: str
    """Why the state, or a part of it, is not known; empty when it is."""
    other_busy_percent: int = 0
    """For how much of the time since the state before others computed, as the driver samples it."""


class BaselineTiming(_Record):
    """The candidate against one baseline in one cell."""

    name: str
    """For example "eager" or "compile"."""
    status: str
    """"timed" or "unavailable"; the figures of an unavailable one mean nothing."""
    reason: str
    """Why it is unavailable."""
    latency_us: Interval
    """The baseline's time in microseconds."""
    speedup: Interval
    """Baseline time over candidate time, both without the cost of a launch where the cell's
    estimator takes it off: above 1 the candidate is faster."""
    decision: str
    """"faster", "slower", "same", "ambiguous" or "undecided"."""
    blocks: int
    """Randomised blocks that the decision rests on."""
    sign_flip_p: Number
    """Probability of such a difference between identical arms."""
    lag1_autocorrelation: Number
    """Of the blocks' log-ratios."""
    speedup_raw: Interval = _NOT_MEASURED
    """The same ratio of the raw times between events."""
    block_log_ratios: tuple[Number, ...] = ()
    """ln(candidate / baseline) of each block, in order: below 0 the candidate is faster."""
    memory: Interval = _NOT_MEASURED
    """Log-ratio of a second meeting with the same inputs to the first, the candidate's minus the
    baseline's: below 0 it remembers."""
    as_called_us: Interval | None = None
    """What a Python caller of the baseline pays in microseconds, host included: a claim of the
    process in which the candidate's code ran."""
    as_called_speedup: Interval | None = None
    """Ratio of the as-called times: a claim like them."""
    kernels: tuple[KernelUse, ...] = ()
    """Of the plan that was timed on a GPU. What torch.compile makes is not the same in every
    process."""


class TimedCell(_Record):
    """One timed shape."""

    dtype: str
    """Element type."""
    axes: dict[str, int]
    """Size of each axis by name."""
    bytes_min: int
    """Compulsory traffic in bytes: inputs and outputs once each."""
    latency_us: Interval
    """The candidate's time in microseconds. `estimator` says what of the launch is in it; where
    that is empty, the hand-over is."""
    handover_us: Number
    """Time of an empty call in microseconds; on a GPU what a launch adds, or the gap between two
    calls in a chain. Measured in the same run."""
    variant: str
    """The autotune configuration that was timed, in words."""
    samples_checked: int
    """Timed outputs that were compared with the oracle."""
    samples_total: int
    """Timed calls of the candidate."""
    baselines: tuple[BaselineTiming, ...]
    """The comparisons."""
    flags: tuple[str, ...]
    """Guards that fired, for example "autocorrelated"."""
    bracket_us: Interval = _NOT_MEASURED
    """Raw time between the events in microseconds, the cost of the launch included."""
    estimator: str = ""
    """How `latency_us` comes from the samples: "bracket", "chain" or "raw"; empty on the host."""
    submission: str = ""
    """How work reached the GPU: "stream", "gate" or "graph"; empty on the host."""
    floor_us: Number = 0.0
    """Time of a copy of the same bytes in the same mix, in microseconds; 0 where unknown."""
    ceiling_fraction: Number = 0.0
    """`floor_us` over the time: 1 is as fast as a copy. 0 where unknown."""
    peak_fraction: Number = 0.0
    """The rate over that of the memory's pins; 0 where unknown."""
    placement_sd: Number = 0.0
    """Relative standard deviation of the time between sets of physical pages."""
    clock_mhz: Number = 0.0
    """Mean clock of the multiprocessors while samples ran; 0 where unknown."""
    blocks_void: int = 0
    """Blocks that did not count."""
    blocks_void_by: dict[str, int] = {}
    """How many of them for which reason: "starved", "flush", "clock" or "span"."""
    gpu_ms: Number = 0.0
    """Device time that measuring this cell took, in milliseconds."""
    code_copies: int = 0
    """Copies of each arm's code that took turns: 1 where its place is not averaged over, 0 on the
    host."""
    as_called_us: Interval | None = None
    """What a Python caller of the candidate pays in microseconds, host included: a claim of the
    process in which its code ran."""

    @property
    def standing(self) -> str:
        """The worst decision against any baseline, or "not compared".

        "undecided" counts as "ambiguous".
        """
        decisions = {one.decision for one in self.baselines if one.status == "timed"}
        if "undecided" in decisions:
            decisions.add("ambiguous")
        return next((one for one in STANDINGS if one in decisions), STANDINGS[-1])


STANDINGS = ("slower", "ambiguous", "same", "faster", "not compared")
"""Decisions from the one that most needs reading to the one that least does."""


def losing_first(cells: Iterable[TimedCell]) -> list[TimedCell]:
    """Returns the cells by standing, slower ones on top, and each group by its smallest ratio."""

    def key(cell: TimedCell) -> tuple[int, float]:
        ratios = [one.speedup.estimate for one in cell.baselines if one.status == "timed"]
        return STANDINGS.index(cell.standing), min(ratios, default=math.inf)

    return sorted(cells, key=key)


def cell_name(cell: TimedCell) -> str:
    """Returns e.g. "float32 rows=64 cols=128"."""
    return " ".join([cell.dtype, *(f"{name}={size}" for name, size in cell.axes.items())])


def timed_baselines(cells: Iterable[TimedCell]) -> list[str]:
    """Returns the names of the baselines that were timed in some cell, as they first appear."""
    return list(
        dict.fromkeys(one.name for cell in cells for one in cell.baselines if one.status == "timed")
    )


class Timing(_Record):
    """The comparison of times."""

    ran: bool
    """False when nothing was timed; the other keys then mean nothing."""
    clock: str
    """The clock that was used: "host_processor_time" or "device_events"."""
    mode: str
    """"screen", "decide" or "report"."""
    cells: tuple[TimedCell, ...]
    """The timed shapes."""
    geomean_speedup: dict[str, Number]
    """Geometric mean of the speed-ups over the cells, by baseline."""
    cache: str = ""
    """What a GPU's L2 cache held before each call: "cold", "dirty", "hot" or "rotated"."""
    calibration: Calibration | None = None
    """What the clock is worth on this GPU; None on the host."""
    gpu_start: GpuState | None = None
    """The GPU when timing began; None on the host."""
    gpu_end: GpuState | None = None
    """The GPU when timing ended; None on the host."""


class GateResult(_Record):
    """The stability gate over fresh processes."""

    ran: bool
    """False when there was no gate; the other keys then mean nothing."""
    passed: bool
    """The claim holds."""
    baseline: str
    """The baseline of the claim."""
    runs: int
    """Fresh processes."""
    speedup: Interval
    """Geometric mean over processes."""
    safe_speedup: Number
    """The interval's bad end: the figure to publish."""
    aa_spread: Number
    """Spread of the candidate against a copy of itself, as a log-ratio."""
    between_process_sd: Number
    """Standard deviation between processes, as a log-ratio."""
    reasons: tuple[str, ...]
    """Why it did not pass."""
    runs_void: int = 0
    """Processes that were replaced, because the machine did not hold still while they ran."""
    process_speedups: tuple[Number, ...] = ()
    """Of each process."""
    copy_speedups: tuple[Number, ...] = ()
    """Of the candidate over its copy in each of them."""


class Finding(_Record):
    """Something noticed about a candidate, with its evidence."""

    kind: str
    """One of the names in docs/verdict.md."""
    severity: str
    """"cheat" rejects, "error" makes the status, "note" only informs."""
    stage: str
    """"compile", "load", "sweep", "time" or "gate"."""
    evidence: str
    """One sentence with the figures."""


class Isolation(_Record):
    """The isolation that the candidate ran under, mechanism by mechanism."""

    level: str
    """"sealed", "sandboxed", "degraded" or "none"."""
    sealed: bool
    """Every system call stops the candidate."""
    namespaces: tuple[str, ...]
    """Namespaces of its own."""
    landlock_abi: int
    """Version of Landlock; 0 when it is not in force."""
    no_new_privileges: bool
    """It cannot gain privileges."""
    resource_limits: bool
    """Resource limits are in force."""
    process_group: bool
    """It has a process group of its own."""
    runs_as_root: bool
    """The referee itself runs as root."""
    missing: tuple[str, ...]
    """One sentence for each mechanism that is not in force."""


class Provenance(_Record):
    """Where a verdict comes from: enough to repeat it."""

    library_version: str
    """Version of this library."""
    created_at: str
    """UTC, ISO 8601."""
    seed: Annotated[str, Field(pattern="^0x[0-9a-fA-F]{16}$")]
    """The seed of all cases, as "0x" and 16 hexadecimal digits: `int(seed, 16)`."""
    machine: str
    """Processor model."""
    kernel: str
    """Release of the operating system."""
    torch_version: str
    """Version of PyTorch."""
    device: str
    """The GPU's name; empty where none was used."""
    driver_version: str
    """Version of the GPU's driver; empty where none was used."""
    trace: str
    """How the candidate's host code was followed: "dry", without a GPU, or "live", on one; empty
    where there is no host code."""
    duration_s: Number
    """Wall time of the judgement in seconds."""
    stage_s: dict[str, Number]
    """Wall time of each stage in seconds."""
    compared_with: str = ""
    """Of `Referee.compare` the other side; empty where a candidate was judged."""


class RewardPolicy(BaseModel):
    """How a verdict turns into a number for a trainer."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    baseline: str = "compile"
    """The baseline to beat; "eager" takes its place where it was not timed in every cell."""
    correct: FiniteFloat = 1.0
    """For a correct candidate, before any speed-up."""
    speedup_weight: FiniteFloat = 1.0
    """What a correct candidate gets for each unit of safe speed-up above 1."""
    incorrect: FiniteFloat = 0.0
    """For `Status.incorrect`."""
    runtime_error: FiniteFloat = -0.2
    """For `Status.runtime_error`."""
    timeout: FiniteFloat = -0.2
    """For `Status.timeout`."""
    compile_error: FiniteFloat = -0.5
    """For `Status.compile_error`."""
    rejected: FiniteFloat = -1.0
    """For `Status.rejected`."""
    maximum: FiniteFloat = 10.0
    """No reward is above this."""
    interpreted: bool = False
    """Whether verdicts of Triton's interpreter, neither sealed nor timed, are rewarded at all."""


class Verdict(_Record):
    """Everything the referee found out about one candidate. Always the same keys."""

    schema_version: Literal[1]
    """Version of this record."""
    status: Status
    """The verdict in one word."""
    summary: str
    """The verdict in one sentence."""
    problem: str
    """Name of the problem."""
    problem_origin: str
    """Where the problem comes from: "builtin:NAME", "file:PATH" or "inline"."""
    candidate: str
    """Name of the candidate."""
    language: str
    """Language of the source."""
    source: str
    """The source that was judged."""
    source_sha256: str
    """SHA-256 of the source's bytes, in hexadecimal."""
    compilation: Compilation
    """What the compiler made of it."""
    correctness: Correctness
    """The sweep over cases."""
    timing: Timing
    """The comparison of times."""
    gate: GateResult
    """The stability gate."""
    findings: tuple[Finding, ...]
    """What was noticed, with evidence."""
    isolation: Isolation
    """What the candidate was locked into."""
    provenance: Provenance
    """What it takes to repeat the verdict."""

    @classmethod
    def from_json(cls, text: str | bytes) -> Verdict:
        """Reads a verdict that `to_json`, the command line or C++ wrote.

        Args:
            text: The JSON text.

        Returns:
            The verdict.

        Raises:
            pydantic.ValidationError: A key is missing, unknown or of the wrong type. The error
                names its path.
        """
        return cls.model_validate_json(text)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Verdict:
        """Reads a verdict from a file.

        Raises:
            InvalidArgumentError: The file cannot be read, or holds no verdict. The error names the
                file and the first keys that are wrong.
        """
        try:
            return cls.from_json(Path(path).read_bytes())
        except OSError as error:
            raise _ouroboros.InvalidArgumentError(f"the verdict cannot be read: {error}") from error
        except ValidationError as error:
            wrong = [
                ": ".join(filter(None, (".".join(map(str, one["loc"])), one["msg"])))
                for one in error.errors(include_url=False, include_input=False)
            ]
            more = f"; and {len(wrong) - 3} more" if len(wrong) > 3 else ""
            raise _ouroboros.InvalidArgumentError(
                f"'{path}' holds no verdict: {'; '.join(wrong[:3])}{more}"
            ) from error

    @classmethod
    def json_schema(cls) -> dict[str, Any]:
        """Returns the JSON schema (draft 2020-12) that every verdict satisfies."""
        return {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            **cls.model_json_schema(mode="validation"),
        }

    def to_dict(self) -> dict[str, Any]:
        """Returns the record as plain dicts, lists, strings and numbers, as in its JSON.

        NaN and the infinities are the strings "NaN", "Infinity" and "-Infinity".
        """
        return self.model_dump(mode="json")

    def to_json(self, indent: int | None = None) -> str:
        """Returns the record as JSON.

        Args:
            indent: Spaces for each level; None gives one line.
        """
        return self.model_dump_json(indent=indent)

    def explain(self) -> str:
        """Returns a short text for a person."""
        return _ouroboros.explain(self.to_json())

    def feedback(self) -> str:
        """Returns a short text for a model to learn from.

        It says what failed, where, by how much and what the likely cause is. It never has the seed.
        """
        return _ouroboros.feedback(self.to_json())

    def reward(self, policy: RewardPolicy | None = None) -> float | None:
        """Returns a reward, or None when nothing was learnt about the candidate.

        A correct candidate gets ``correct + speedup_weight * max(0, safe - 1)``, at most
        ``maximum``, where ``safe`` is the geometric mean over the timed shapes of the lower ends of
        the speed-ups' intervals: noise is never paid.

        None means that the machine or the problem failed (`Status.infrastructure_error`,
        `Status.invalid_problem`), or that the verdict is one of Triton's interpreter and the policy
        does not ask for those. A trainer must mask such a row. It is not a reward of 0, which
        would teach the policy that what it wrote was wrong.

        Args:
            policy: What each outcome is worth; None takes the defaults.
        """
        return _ouroboros.reward(self.to_json(), (policy or RewardPolicy()).model_dump_json())

    def _repr_html_(self) -> str:
        return _html_of(self)


# What a candidate wrote must not steer the page: no markup, no control characters, no overrides of
# the text's direction, nothing that is no character.
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069"
    "\ud800-\udfff\ufeff\ufffe\uffff]"
)

_GREEN, _AMBER, _RED, _GREY = "#1a7f37", "#9a6700", "#cf222e", "#57606a"
_COLOURS = {
    Status.ok: _GREEN,
    Status.compile_error: _AMBER,
    Status.runtime_error: _AMBER,
    Status.timeout: _AMBER,
    Status.incorrect: _RED,
    Status.rejected: _RED,
    Status.invalid_problem: _GREY,
    Status.infrastructure_error: _GREY,
}


def harmless(text: object) -> str:
    """Returns text without what would steer a page; it still has to be escaped."""
    return _STEERING.sub("?", str(text))


def _shown(text: object) -> str:
    return html.escape(harmless(text))


def _shown_axes(axes: dict[str, int]) -> str:
    return " ".join(f"{name}={size}" for name, size in axes.items())


def _html_of(verdict: Verdict) -> str:
    """A small table. Every text of the record goes through `_shown`."""
    rows: list[tuple[str, str]] = []
    for finding in verdict.findings:
        rows.append((f"{finding.severity}: {finding.kind}", finding.evidence))
    sweep = verdict.correctness
    if sweep.ran:
        rows.append(
            (
                "cases",
                f"{sweep.cases_passed} of {sweep.cases_total} passed "
                f"({', '.join(sweep.dtypes)}), largest error "
                f"{sweep.max_error_over_allowed:.3g} of what is allowed",
            )
        )
        failed = [case for case in sweep.cases if case.status == "failed"]
        for case in failed[:3]:
            place = f"{case.dtype} {_shown_axes(case.axes)}, {case.family}"
            rows.append(("failed", f"{place}: {case.message}"))
    for cell in verdict.timing.cells:
        rows.append(
            (
                f"{cell.dtype} {_shown_axes(cell.axes)}",
                f"{cell.latency_us.estimate:.4g} \u00b5s "
                f"[{cell.latency_us.low:.4g}, {cell.latency_us.high:.4g}]",
            )
        )
        for baseline in cell.baselines:
            ratio = baseline.speedup
            rows.append(
                (
                    f"against {baseline.name}",
                    f"{ratio.estimate:.2f}\u00d7 [{ratio.low:.2f}, {ratio.high:.2f}] "
                    f"{baseline.decision}"
                    if baseline.status == "timed"
                    else f"unavailable: {baseline.reason}",
                )
            )
    rows.append(("isolation", verdict.isolation.level))
    body = "".join(
        f'<tr><td style="text-align:left">{_shown(name)}</td>'
        f'<td style="text-align:left">{_shown(value)}</td></tr>'
        for name, value in rows
    )
    badge = (
        f'<span style="background:{_COLOURS[verdict.status]};color:#fff;padding:2px 8px;'
        f'border-radius:4px">{_shown(verdict.status)}</span>'
    )
    return (
        f"<div><p>{badge} <b>{_shown(verdict.candidate)}</b> for "
        f"<b>{_shown(verdict.problem)}</b></p><p>{_shown(verdict.summary)}</p>"
        f"<table>{body}</table></div>"
    )
