"""Reports: verdicts as one HTML page that can be sent to a colleague.

The page stands alone: no script, no network, no other file. Everything in a verdict is hostile, so
every text goes through `harmless` and the template's escaping.
"""

from __future__ import annotations

import hashlib
import math
import os
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from ouroboros import guards
from ouroboros._ouroboros import InvalidArgumentError, IOFailure, NotFoundError, __version__
from ouroboros.verdict import (
    STANDINGS,
    BaselineTiming,
    GpuState,
    Interval,
    KernelUse,
    Status,
    TimedCell,
    Verdict,
    cell_name,
    harmless,
    losing_first,
    timed_baselines,
)

__all__ = ["claims", "conclusion", "page", "report"]

VerdictLike = Verdict | str | os.PathLike[str]

_SYMBOLS = {
    "slower": "\u25c0",
    "ambiguous": "\u25cb",
    "undecided": "\u25cb",
    "same": "\u25a0",
    "faster": "\u25b6",
}
_ESTIMATORS = {
    "bracket": "launch subtracted",
    "chain": "mean of chains",
    "raw": "nothing subtracted",
    "": "hand-over included",
}

_L2_HELD = {
    "dirty": "an L2 cache that waits to be written back",
    "hot": "an L2 cache as the same call left it",
    "rotated": "pages that the calls of a chain before them did not touch",
}


def launch_in(cell: TimedCell) -> bool:
    """Returns whether a cell's times hold the cost of a launch, or the gap between two calls."""
    return cell.estimator in ("", "raw") or "launch_bound" in cell.flags


def report(
    verdicts: VerdictLike | Iterable[VerdictLike], path: str | os.PathLike[str] = "report.html"
) -> Path:
    """Writes one HTML page about verdicts.

    Args:
        verdicts: One or several, as objects or as paths of their JSON.
        path: Where the page goes; a file there is replaced.

    Returns:
        The path.

    Raises:
        InvalidArgumentError: There is no verdict, a file cannot be read, or it holds none.
        NotFoundError: matplotlib or Jinja2 is not installed.
        IOFailure: The page cannot be written.
    """
    if isinstance(verdicts, Verdict | str | os.PathLike):
        verdicts = [verdicts]
    text = page([one if isinstance(one, Verdict) else Verdict.load(one) for one in verdicts])
    target = Path(path)
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise IOFailure(f"the report cannot be written: {error}") from error
    return target


def page(verdicts: Sequence[Verdict]) -> str:
    """Returns the page. The same verdicts give the same text."""
    if not verdicts:
        raise InvalidArgumentError("a report needs at least one verdict")
    try:
        import jinja2
        import markupsafe

        from ouroboros import plots
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("jinja2", "matplotlib"):
            raise
        raise NotFoundError(
            f"a report needs {error.name}, which is not installed: "
            "pip install 'ouroboros-referee[report]'"
        ) from error

    def finalize(value: object) -> object:
        return value if isinstance(value, markupsafe.Markup) else harmless(value)

    folder = resources.files("ouroboros") / "templates"
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: (folder / name).read_text(encoding="utf-8")),
        autoescape=True,
        finalize=finalize,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        version=__version__,
        style=markupsafe.Markup((folder / "report.css").read_text(encoding="utf-8")),
    )
    environment.filters.update(
        ratio=_ratio,
        time=_time,
        number=_number,
        share=_share,
        size=_size,
        symbol=_symbol,
        change=_change,
        short=lambda value: f"{value:.2g}",
    )
    sections = [
        {
            "view": (view := _View(f"v{number}", verdict)),
            "figures": {
                name: markupsafe.Markup(svg)
                if isinstance(svg, str)
                else list(map(markupsafe.Markup, svg))
                for name, svg in _figures(view, plots).items()
            },
        }
        for number, verdict in enumerate(verdicts, 1)
    ]
    return environment.get_template("report.html").render(sections=sections)


@dataclass(frozen=True)
class _Row:
    """A timed cell with its number in the tables and figures."""

    number: int
    name: str
    cell: TimedCell
    baselines: tuple[BaselineTiming, ...]

    @property
    def height(self) -> int:
        return max(1, len(self.baselines))

    @property
    def method(self) -> str:
        """What of the launch is in the time, and how the work reached the GPU."""
        how = _ESTIMATORS.get(self.cell.estimator, self.cell.estimator)
        return f"{how}, {self.cell.submission}" if self.cell.submission else how


class _View:
    """A verdict as the template needs it."""

    def __init__(self, name: str, verdict: Verdict) -> None:
        self.name = name
        self.verdict = verdict
        self.timing = verdict.timing
        self.cells = losing_first(verdict.timing.cells) if verdict.timing.ran else []
        self.rows = [
            _Row(number, cell_name(cell), cell, tuple(sorted(cell.baselines, key=_standing)))
            for number, cell in enumerate(self.cells, 1)
        ]
        self.on_gpu = self.timing.ran and self.timing.clock != "host_processor_time"
        self.conclusion = conclusion(verdict)
        self.claims = claims(verdict)

    @property
    def title(self) -> str:
        return f"{self.verdict.candidate} for {self.verdict.problem}"

    @property
    def device(self) -> str:
        where = self.verdict.provenance
        return where.device or where.machine

    @property
    def baselines(self) -> list[str]:
        """Names of all baselines that were timed in some cell."""
        return timed_baselines(self.cells)

    @property
    def launch_free(self) -> bool:
        """Whether the cost of launches is off all times."""
        return not any(launch_in(cell) for cell in self.cells)

    @property
    def l2(self) -> str:
        """What a call began on, in words."""
        return _L2_HELD.get(self.timing.cache, "a cold, clean L2 cache")

    @property
    def standings(self) -> str:
        """E.g. "2 slower, 1 faster"."""
        counted = Counter(cell.standing for cell in self.cells)
        return ", ".join(f"{counted[one]} {one}" for one in STANDINGS if counted[one])

    @property
    def geomeans(self) -> list[tuple[str, float, int]]:
        """By baseline: its geometric mean, and the cells it is over. Only of what is correct."""
        if self.verdict.status is not Status.ok:
            return []
        return [
            (name, ratio, len(_compared(self.cells, name)))
            for name, ratio in sorted(self.timing.geomean_speedup.items())
        ]

    @property
    def called(self) -> list[_Row]:
        """Cells with an as-called time."""
        return [
            row
            for row in self.rows
            if row.cell.as_called_us or any(one.as_called_us for one in row.baselines)
        ]

    @property
    def guards(self) -> list[tuple[str, str, str]]:
        """Each flag with the numbers of its cells and its meaning."""
        where: dict[str, list[str]] = {}
        for row in self.rows:
            for flag in row.cell.flags:
                where.setdefault(flag, []).append(str(row.number))
        return [
            (flag, ", ".join(numbers), guards.meaning(flag))
            for flag, numbers in sorted(where.items())
        ]

    @property
    def states(self) -> list[tuple[str, str, str]]:
        """The GPU when timing began and when it ended, line by line."""
        start, end = self.timing.gpu_start, self.timing.gpu_end
        lines: list[tuple[str, Callable[[GpuState], str]]] = [
            (
                "clock of the multiprocessors",
                lambda s: f"{s.sm_clock_mhz} of {s.sm_clock_max_mhz} MHz",
            ),
            ("clock of the memory", lambda s: f"{s.memory_clock_mhz} MHz"),
            ("clocks locked", lambda s: "yes" if s.clocks_locked else "no"),
            ("power", lambda s: f"{s.power_w:.0f} of {s.power_limit_w:.0f} W"),
            ("temperature", lambda s: f"{s.temperature_c} \u00b0C"),
            ("slowdowns", lambda s: ", ".join(s.slowdowns) or "none"),
            (
                "processes of others",
                lambda s: (
                    f"{s.other_processes}, busy for {s.other_busy_percent} % of the time"
                    if s.other_processes
                    else "0"
                ),
            ),
        ]
        if (start and start.reason) or (end and end.reason):
            lines.append(("not known", lambda s: s.reason or "-"))

        def said(state: GpuState | None, name: str, say: Callable[[GpuState], str]) -> str:
            # Where nothing is known all figures are 0, which is no state of a GPU.
            unknown = state is None or (state.reason and not state.sm_clock_mhz)
            return "-" if state is None or (unknown and name != "not known") else say(state)

        return [(name, said(start, name, say), said(end, name, say)) for name, say in lines]

    @property
    def provenance(self) -> list[tuple[str, str]]:
        where = self.verdict.provenance
        isolation = self.verdict.isolation
        lines = [
            ("judged at", where.created_at),
            ("GPU", where.device),
            ("driver", where.driver_version),
            ("processor", where.machine),
            ("operating system", where.kernel),
            ("PyTorch", where.torch_version),
            ("library", where.library_version),
            ("compiler", self.verdict.compilation.compiler),
            ("target", self.verdict.compilation.target),
            ("module, SHA-256", self.verdict.compilation.image_sha256),
            ("host code followed", where.trace),
            ("isolation", "; ".join([isolation.level, *isolation.missing])),
            ("seed", where.seed),
            ("judging took", f"{where.duration_s:.1f} s"),
        ]
        return [(name, value) for name, value in lines if value]

    @property
    def launches(self) -> list[tuple[str, tuple[KernelUse, ...]]]:
        """The kernels of each baseline's plan, in the first cell."""
        first = self.timing.cells[0].baselines if self.timing.cells else ()
        return [(one.name, one.kernels) for one in first if one.kernels]

    @property
    def source_matches(self) -> bool:
        text = self.verdict.source.encode("utf-8", "surrogateescape")
        return hashlib.sha256(text).hexdigest() == self.verdict.source_sha256

    @property
    def source(self) -> str:
        return self.verdict.source.replace("\r\n", "\n")

    @property
    def command(self) -> str:
        """What judges the same source on the same cases again."""
        verdict = self.verdict
        kind, _, rest = verdict.problem_origin.partition(":")
        problem = rest if kind in ("builtin", "file") else verdict.problem
        rival = verdict.provenance.compared_with
        words = ["ouroboros", "judge", _argument(verdict.candidate)]
        if rival:  # Plans go by their files' names without the suffix.
            sides = (verdict.candidate, rival)
            files = [one if "." in one else f"{one}.plan" for one in sides]
            words = ["ouroboros", "bench", *map(_argument, files)]
        words += ["--problem", _argument(problem), "--seed", verdict.provenance.seed]
        if rival:
            for cell in self.timing.cells:
                axes = ",".join(f"{axis}={size}" for axis, size in cell.axes.items())
                words += ["--shapes", _argument(axes)]
            words += ["--dtype", _argument(self.timing.cells[0].dtype)] if self.timing.cells else []
            words += ["--cache", _argument(self.timing.cache)] if self.timing.cache else []
        if self.timing.ran and self.timing.mode:
            words += ["--mode", shlex.quote(harmless(self.timing.mode))]
        if verdict.gate.ran:
            words.append("--gate")
        return " ".join(words)


def conclusion(verdict: Verdict) -> str:
    """Returns one sentence: what was found out."""
    if verdict.status is not Status.ok:
        return verdict.summary or verdict.status.value
    sweep = verdict.correctness
    correct = f"Correct in {sweep.cases_passed} of {sweep.cases_total} cases"
    if not sweep.ran:
        correct = "Correctness was not judged"
    if not verdict.timing.ran or not verdict.timing.cells:
        return f"{correct}; not timed."
    parts = []
    for name, ratio in sorted(verdict.timing.geomean_speedup.items(), key=lambda one: one[1]):
        decisions = Counter(one.decision for one in _compared(verdict.timing.cells, name))
        said = ", ".join(
            f"{decisions[one]} {one}" for one in (*STANDINGS, "undecided") if decisions[one]
        )
        parts.append(f"{_number(ratio)}\u00d7 against {name} (cells: {said})")
    if not parts:
        return f"{correct}; no baseline was timed."
    return f"{correct}; in geometric mean {'; '.join(parts)}."


def claims(verdict: Verdict) -> list[str]:
    """Returns what may be claimed from a verdict about speed, a sentence or two each."""
    timing, gate = verdict.timing, verdict.gate
    if verdict.status is not Status.ok:
        why = (
            "nothing was learnt about the candidate"
            if verdict.status.is_infrastructure_fault
            else f"the verdict is {verdict.status.value}"
        )
        return [f"Nothing about speed: {why}."]
    if not timing.ran or not timing.cells:
        return ["Correctness on the cases that were drawn. Nothing about speed: it was not timed."]
    said = []
    if gate.ran and gate.passed:
        said.append(
            f"At least {_number(gate.safe_speedup)}\u00d7 against {gate.baseline}: that held in "
            f"{gate.runs} fresh processes, and is the figure to publish."
        )
    elif gate.ran:
        said.append(
            f"No speed-up over {gate.baseline} to publish: the stability gate did not pass "
            f"({'; '.join(gate.reasons) or 'no reason given'})."
        )
    said += [_claim_against(name, timing.cells) for name in timed_baselines(timing.cells)]
    missing = sorted(
        {one.name for cell in timing.cells for one in cell.baselines if one.status != "timed"}
    )
    if missing:
        said.append(
            f"Not every cell was compared with {', '.join(missing)}: "
            "nothing follows for the others."
        )
    if not gate.ran:
        said.append(
            "All this is one process on one machine. Without the stability gate (--gate) it is a "
            "finding and not yet a figure to publish."
        )
    if timing.mode != "report":
        said.append(
            f"Timing ran in the mode {timing.mode}, which stops early: its estimates flatter the "
            "winner a little, so quote the interval, not the estimate."
        )
    if timing.clock != "host_processor_time" and any(launch_in(cell) for cell in timing.cells):
        said.append(
            "Times hold the cost of a launch, for all arms alike, which pulls the ratios of short "
            "kernels towards 1."
        )
    said.append("It holds for the element types and shapes of the table and for no others.")
    return said


def _claim_against(name: str, cells: Sequence[TimedCell]) -> str:
    compared = _compared(cells, name)
    decisions = Counter(one.decision for one in compared)
    count = len(compared)
    worst = min(compared, key=lambda one: one.speedup.estimate).speedup
    if decisions["slower"]:
        return (
            f"No speed-up over {name} as such: slower in {decisions['slower']} of {count} cells, "
            f"at worst {_ratio(worst)}."
        )
    if decisions["faster"] == count:
        lows = [one.speedup.low for one in compared]
        safe = math.exp(sum(map(math.log, lows)) / count) if min(lows) > 0 else 0.0
        return (
            f"Faster than {name} in {'every cell' if count > 1 else 'the one cell'} that was "
            f"compared: {_number(safe)}\u00d7 is the geometric mean of the intervals' lower ends."
        )
    if decisions["faster"]:
        return (
            f"Faster than {name} in {decisions['faster']} of {count} cells and shown to be slower "
            "in none; for the rest no difference is shown."
        )
    if decisions["same"] == count:
        return f"As fast as {name}, within 1 %, in every cell that was compared."
    return f"No difference from {name} is shown, in either direction."


def _standing(one: BaselineTiming) -> int:
    """Where a comparison stands among those of its cell."""
    decision = "ambiguous" if one.decision == "undecided" else one.decision
    known = one.status == "timed" and decision in STANDINGS
    return STANDINGS.index(decision) if known else len(STANDINGS)


def _compared(cells: Iterable[TimedCell], name: str) -> list[BaselineTiming]:
    """The comparisons with a baseline that were timed."""
    return [
        one
        for cell in cells
        for one in cell.baselines
        if one.name == name and one.status == "timed"
    ]


def _figures(view: _View, plots: Any) -> dict[str, Any]:
    """SVG by name; the figures of blocks are a list, one for each cell."""
    about = f"{view.title}, cells numbered as in the table"
    record = view.timing.calibration
    spoken = "; ".join(
        f"cell {row.number} {row.name}: "
        + ", ".join(
            f"{one.name} {_ratio(one.speedup)} {one.decision}"
            for one in row.baselines
            if one.status == "timed"
        )
        for row in view.rows
    )
    return {
        "forest": plots.forest(
            view.cells,
            label=f"Ratios with intervals, {about}. {spoken}",
            name=f"{view.name}-forest",
        ),
        "roofline": plots.roofline(
            view.cells,
            record,
            label=f"Achieved GB/s against compulsory bytes, {about}, with measured copies.",
            name=f"{view.name}-roofline",
        )
        if view.on_gpu
        else "",
        "blocks": [
            plots.blocks(
                row.cell,
                label=f"Ratio of every block in order, and its histogram: cell {row.number}, "
                f"{row.name}.",
                name=f"{view.name}-blocks{row.number}",
            )
            for row in view.rows
        ],
        "calibration": plots.calibration(
            record,
            label=f"Calibration of the clock on {record.device}: copies, flushes, launches, A/A.",
            name=f"{view.name}-calibration",
        )
        if record
        else "",
    }


def _argument(text: str) -> str:
    """A word for a shell, that is no option."""
    word = harmless(text).replace("\n", "?").replace("\t", "?")
    return shlex.quote(f"./{word}" if word.startswith("-") else word)


def _measured(one: Interval | None) -> bool:
    return one is not None and one.estimate != 0


def _number(value: float) -> str:
    """Four significant digits for times, three decimals for ratios: both near 1 and far from it."""
    if not math.isfinite(value):
        return {math.inf: "\u221e", -math.inf: "-\u221e"}.get(value, "not a number")
    if value and not 1e-4 <= abs(value) < 1e6:
        return f"{value:.3e}"
    if abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.{max(0, 3 - math.floor(math.log10(abs(value))))}f}" if value else "0"


def _ratio(one: Interval | None) -> str:
    if one is None or not _measured(one):
        return "-"
    digits = 3 if one.estimate < 10 else 2
    return f"{one.estimate:.{digits}f}\u00d7 [{one.low:.{digits}f}, {one.high:.{digits}f}]"


def _time(one: Interval | None) -> str:
    if one is None or not _measured(one):
        return "-"
    return f"{_number(one.estimate)} [{_number(one.low)}, {_number(one.high)}]"


def _change(one: Interval) -> str:
    """A small log-ratio with its interval, in per cent."""
    if not _measured(one):
        return "-"
    return f"{100 * one.estimate:+.2f} % [{100 * one.low:+.2f}, {100 * one.high:+.2f}]"


def _share(value: float) -> str:
    return f"{100 * value:.1f} %" if value and math.isfinite(value) else "-"


def _size(value: int) -> str:
    return f"{value / 2**20:.4g} MiB" if value >= 2**20 else f"{value / 2**10:.4g} KiB"


def _symbol(decision: str) -> str:
    return f"{_SYMBOLS[decision]} {decision}" if decision in _SYMBOLS else decision
