"""How verdicts, problems and checks look in a terminal. Only the command line uses it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from ouroboros._ouroboros import Problem
from ouroboros.verdict import (
    BaselineTiming,
    Calibration,
    Interval,
    Status,
    TimedCell,
    Verdict,
    cell_name,
    losing_first,
)

if TYPE_CHECKING:
    from ouroboros.doctor import Check
    from ouroboros.replay import Replay
    from ouroboros.selftest import AttackResult

_STYLES = {
    Status.ok: "green",
    Status.compile_error: "yellow",
    Status.runtime_error: "yellow",
    Status.timeout: "yellow",
    Status.incorrect: "red",
    Status.rejected: "bold red",
    Status.invalid_problem: "magenta",
    Status.infrastructure_error: "magenta",
}
_SHOUTED = {Status.rejected: "REJECTED"}
_STATE_STYLES = {"ok": "green", "degraded": "yellow", "missing": "bold red", "info": "dim"}


def shown(text: str, limit: int = 400) -> str:
    """Returns text that a candidate may have written, without what would steer a terminal."""
    safe = "".join(c if c == "\n" or c.isprintable() else "\ufffd" for c in text)
    return safe if len(safe) <= limit else safe[: limit - 3] + "..."


def add_row(table: Table, *cells: str | Text) -> None:
    """Adds a row; plain strings are shown as they are, whatever brackets they have."""
    table.add_row(*(Text(cell) if isinstance(cell, str) else cell for cell in cells))


def status_text(status: Status) -> Text:
    """Returns a status in its colour."""
    return Text(_SHOUTED.get(status, status.value), style=_STYLES[status])


def axes_text(axes: Mapping[str, int]) -> str:
    """Returns e.g. "rows=64 cols=128"."""
    return " ".join(f"{name}={size}" for name, size in axes.items())


def speedup_text(speedup: Interval) -> str:
    """Returns e.g. "1.42x [1.39, 1.45]"."""
    return f"{speedup.estimate:.2f}x [{speedup.low:.2f}, {speedup.high:.2f}]"


def _latency_text(latency: Interval) -> str:
    return f"{latency.estimate:.4g} us [{latency.low:.4g}, {latency.high:.4g}]"


def evidence_text(verdict: Verdict) -> str:
    """Returns the one line that says why the verdict is what it is."""
    for severity in ("cheat", "error"):
        for finding in verdict.findings:
            if finding.severity == severity:
                return shown(finding.evidence)
    for case in verdict.correctness.cases:
        if case.status == "failed":
            return shown(f"{case.dtype} {axes_text(case.axes)}, {case.family}: {case.message}")
    return shown(verdict.summary)


def verdict_panel(verdict: Verdict) -> RenderableType:
    """Returns a verdict as a panel."""
    parts: list[RenderableType] = [Text(shown(verdict.summary))]
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim")
    facts.add_column()
    if verdict.compilation.ran:
        compiler = f"{verdict.compilation.duration_ms:.0f} ms, {verdict.compilation.compiler}"
        add_row(facts, "compiled", shown(compiler))
        for kernel in verdict.compilation.kernels:
            shared = kernel.shared_bytes + kernel.shared_dynamic_bytes
            add_row(
                facts,
                "kernel",
                shown(
                    f"{kernel.function}: {kernel.registers} registers, {kernel.stack_bytes} B of "
                    f"stack, {shared} B of shared memory, blocks of {kernel.block[0]} threads"
                ),
            )
    sweep = verdict.correctness
    if sweep.ran:
        add_row(
            facts,
            "correct",
            f"{sweep.cases_passed} of {sweep.cases_total} cases ({', '.join(sweep.dtypes)}); "
            f"largest error {sweep.max_error_over_allowed:.3g} of what is allowed",
        )
        if sweep.dtypes_missing:
            add_row(facts, "not exported", ", ".join(sweep.dtypes_missing))
    if verdict.gate.ran:
        state = "passed" if verdict.gate.passed else "; ".join(verdict.gate.reasons)
        add_row(
            facts,
            "gate",
            f"{speedup_text(verdict.gate.speedup)} over {verdict.gate.runs} processes against "
            f"{verdict.gate.baseline}: {state}",
        )
    add_row(facts, "isolation", verdict.isolation.level)
    add_row(facts, "seed", verdict.provenance.seed)
    parts.append(facts)
    failed = [case for case in sweep.cases if case.status == "failed"]
    for case in failed[:3]:
        place = f"{case.dtype} {axes_text(case.axes)}, {case.family}"
        parts.append(Text(f"case {case.id} ({place}): {shown(case.message)}", style="red"))
    if len(failed) > 3:
        parts.append(Text(f"... and {len(failed) - 3} more failed cases", style="red"))
    for finding in verdict.findings:
        style = {"cheat": "bold red", "error": "yellow"}.get(finding.severity, "dim")
        parts.append(
            Text(f"{finding.severity} {finding.kind} ({finding.stage}): ", style=style)
            + Text(shown(finding.evidence), style="")
        )
    if verdict.status is Status.compile_error and verdict.compilation.log:
        parts.append(Text(shown(verdict.compilation.log, 2000), style="dim"))
    if verdict.timing.cells:
        parts.append(timing_table(verdict.timing.cells))
    title = status_text(verdict.status) + Text(
        f"  {shown(verdict.candidate, 80)} for {shown(verdict.problem, 80)}", style="default"
    )
    return Panel(Group(*parts), title=title, title_align="left", expand=False)


def timing_table(cells: Sequence[TimedCell]) -> Table:
    """Returns timed cells, losing ones first. Columns that no cell fills are left out."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("timed")
    table.add_column("candidate", justify="right")
    with_ceiling = any(cell.ceiling_fraction for cell in cells)
    with_notes = any(cell.estimator or cell.flags for cell in cells)
    if with_ceiling:
        table.add_column("of a copy", justify="right", no_wrap=True)
    names: list[str] = []
    for cell in cells:
        names.extend(one.name for one in cell.baselines if one.name not in names)
    for name in names:
        table.add_column(Text(f"against {shown(name)}"), justify="right")
    with_called = any(cell.as_called_us for cell in cells)
    if with_called:
        table.add_column("as called (a claim)", justify="right")
    if with_notes:
        table.add_column("notes", overflow="fold")
    reasons: dict[str, str] = {}
    for cell in losing_first(cells):
        by_name = {one.name: one for one in cell.baselines}
        for one in cell.baselines:
            if one.status != "timed":
                reasons.setdefault(one.name, one.reason)
        ceiling = f"{100 * cell.ceiling_fraction:.0f} %" if cell.ceiling_fraction else "-"
        add_row(
            table,
            shown(cell_name(cell)),
            _latency_text(cell.latency_us),
            *([ceiling] if with_ceiling else []),
            *(_baseline_text(by_name.get(name)) for name in names),
            *([_called_text(cell)] if with_called else []),
            *([_notes_text(cell)] if with_notes else []),
        )
    if reasons:
        lines = (f"{shown(name)}: {shown(why)}" for name, why in reasons.items())
        table.caption = Text("\n".join(lines))
        table.caption_justify = "left"
    return table


def _called_text(cell: TimedCell) -> str:
    if cell.as_called_us is None:
        return "-"
    ratios = (
        f"{one.as_called_speedup.estimate:.2f}x {shown(one.name)}"
        for one in cell.baselines
        if one.as_called_speedup is not None
    )
    return ", ".join([f"{cell.as_called_us.estimate:.4g} us", *ratios])


def _notes_text(cell: TimedCell) -> Text:
    flags = Text(shown(" ".join(cell.flags)), style="yellow")
    return Text(" ").join(
        part for part in (Text(shown(cell.estimator), style="dim"), flags) if part
    )


def _baseline_text(one: BaselineTiming | None) -> Text:
    if one is None or one.status != "timed":
        return Text("unavailable", style="dim")
    style = {"faster": "green", "slower": "red"}.get(one.decision, "default")
    return Text(f"{speedup_text(one.speedup)} {one.decision}", style=style)


def report_view(verdicts: Sequence[Verdict]) -> RenderableType:
    """Returns what a report says first: an overview of several, then what each may claim."""
    from ouroboros.report import claims, conclusion

    parts: list[RenderableType] = []
    if len(verdicts) > 1:
        parts.append(_overview(verdicts))
    for verdict in verdicts:
        where = verdict.provenance.device or verdict.provenance.machine
        parts.append(
            status_text(verdict.status)
            + Text(f"  {shown(verdict.candidate, 80)} for {shown(verdict.problem, 80)}", "bold")
            + Text(f"  {shown(where, 80)}", "dim")
        )
        parts.append(Text(shown(conclusion(verdict))))
        if verdict.timing.cells:
            parts.append(timing_table(verdict.timing.cells))
        parts += [Text(f"- {shown(claim)}") for claim in claims(verdict)]
        parts.append(Text())
    return Group(*parts)


def _overview(verdicts: Sequence[Verdict]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("candidate", "problem", "status", "geometric mean"):
        table.add_column(title)
    for verdict in verdicts:
        counts = verdict.status is Status.ok
        means = sorted(verdict.timing.geomean_speedup.items()) if counts else []
        ratios = ", ".join(f"{shown(name)} {ratio:.3f}x" for name, ratio in means)
        add_row(
            table,
            shown(verdict.candidate, 40),
            shown(verdict.problem, 40),
            status_text(verdict.status),
            ratios or ("none that counts" if verdict.timing.ran else "not timed"),
        )
    return table


def calibration_view(measured: Calibration) -> RenderableType:
    """Returns what a GPU's clock can and cannot resolve."""
    facts = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    facts.add_column("figure")
    facts.add_column("value", justify="right")
    facts.add_column("95 % interval", justify="right")
    facts.add_column("meaning", overflow="fold")

    def row(name: str, value: Interval, unit: str, meaning: str) -> None:
        interval = f"{value.low:.4g} to {value.high:.4g}"
        add_row(facts, name, f"{value.estimate:.4g} {unit}", interval, meaning)

    def step(name: str, value_ns: float, error_ns: float, meaning: str) -> None:
        interval = f"{value_ns - error_ns:.4g} to {value_ns + error_ns:.4g}"
        add_row(facts, name, f"{value_ns:.4g} ns", interval, meaning)

    step("tick", measured.tick_ns, measured.tick_error_ns, "of events: times are multiples of it")
    for way, cost in measured.launch_us.items():
        row(f"launch, {way}", cost, "us", "in every raw time; subtracted, or cancelled")
    for way, cost in measured.gap_us.items():
        row(f"gap, {way}", cost, "us", "between two kernels; taken off calls in chains")
    for way, cost in measured.empty_us.items():
        row(f"empty kernel, {way}", cost, "us", "the least that can be told from nothing")
    row(
        "flush", measured.flush_us, "us", f"reads {measured.flush_bytes >> 20} MiB, leaves it clean"
    )
    row("copy, clean", measured.clean_copy_us, "us", "16 MiB moved, behind the clean flush")
    row("copy, dirty", measured.dirty_copy_us, "us", "behind a memset: what such a flush adds")
    row("copy, hot", measured.hot_copy_us, "us", "behind itself")
    for size in measured.flush_sizes:
        row(f"read behind {size.bytes >> 20} MiB", size.read_us, "us", "is a longer flush colder?")
    timer_ns, timer_error_ns = measured.globaltimer_step_ns, measured.globaltimer_step_error_ns
    step("second clock", timer_ns, timer_error_ns, "its smallest step, and how far looks differ")
    peak = f"{measured.peak_gbps:.0f} GB/s" if measured.peak_gbps else "unknown"
    add_row(facts, "memory, peak", peak, "", "from the bus's width and clock, as the driver says")
    row("A/A", measured.aa_speedup, "", "a copy against itself, 32 blocks")
    claim = f"{measured.least_claim:.4g}"
    add_row(facts, "least claim", claim, "", "twice A/A's distance from 1: claim no smaller ratio")
    heading = Text(f"{measured.device}, {measured.driver_version}, {measured.measured_at}")
    notes = [Text(shown(note), style="yellow") for note in measured.notes]
    return Group(heading, facts, _curve_table(measured), *notes)


def _curve_table(measured: Calibration) -> Table:
    curve = Table(box=box.SIMPLE_HEAD, pad_edge=False, title="GB/s by bytes moved")
    curve.add_column("read : written")
    # Sizes differ a little between mixes: whole streams of whole blocks.
    sizes = sorted({2 ** round(math.log2(point.bytes)) for point in measured.copy_curve})
    for size in sizes:
        curve.add_column(f"{size >> 20} MiB", justify="right")
    for mix in sorted({(p.reads, p.writes) for p in measured.copy_curve}, reverse=True):
        rates = {
            2 ** round(math.log2(p.bytes)): p.gbps.estimate
            for p in measured.copy_curve
            if (p.reads, p.writes) == mix
        }
        texts = [f"{rates[size]:.0f}" if size in rates else "" for size in sizes]
        add_row(curve, f"{mix[0]} : {mix[1]}", *texts)
    return curve


def replay_panel(outcome: Replay) -> RenderableType:
    """Returns what a replay found."""
    lines: list[RenderableType] = [
        Text("recorded ") + status_text(outcome.recorded.status),
        Text("replayed ") + status_text(outcome.verdict.status),
        Text(f"{outcome.cases_same} of {outcome.cases_total} cases have the recorded result"),
    ]
    lines += [Text(shown(difference), style="red") for difference in outcome.differences]
    title = (
        Text("reproduced", style="green")
        if outcome.reproduced
        else Text("NOT REPRODUCED", style="bold red")
    )
    return Panel(Group(*lines), title=title, title_align="left", expand=False)


def doctor_table(checks: Iterable[Check]) -> Table:
    """Returns what a machine offers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    table.add_column("what")
    table.add_column("found", overflow="fold")
    for check in checks:
        found = Text(shown(check.found))
        if check.advice:
            found += Text("\n" + shown(check.advice), style=_STATE_STYLES[check.state])
        add_row(
            table,
            Text(
                check.state.upper() if check.state == "missing" else check.state,
                style=_STATE_STYLES[check.state],
            ),
            check.name,
            found,
        )
    return table


def wall(results: Sequence[AttackResult]) -> Table:
    """Returns the attacks with what became of them."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    table.add_column("attack", no_wrap=True)
    table.add_column("expected", max_width=17)
    table.add_column("got", no_wrap=True)
    table.add_column("twin", no_wrap=True)
    table.add_column("evidence", overflow="fold")
    for result in results:
        twin = Text("-") if result.twin is None else status_text(result.twin.status)
        outcome = Text("FAILED", style="bold red")
        told = "; ".join(result.problems)
        if result.passed:
            outcome, told = Text("ok", style="green"), evidence_text(result.verdict)
        elif result.is_known_hole:
            outcome, told = Text("hole", style="yellow"), f"known: {result.attack.hole}"
        add_row(
            table,
            outcome,
            result.attack.name,
            " or ".join(result.attack.statuses),
            status_text(result.verdict.status),
            twin,
            told,
        )
    refused = sum(result.attack_passed for result in results)
    twins = [result for result in results if result.twin is not None]
    accepted = sum(result.twin_passed for result in twins)
    holes = sum(result.is_known_hole for result in results)
    table.caption = (
        f"{refused} of {len(results)} attacks as expected, "
        + (f"{holes} accepted through known holes, " if holes else "")
        + f"{accepted} of {len(twins)} honest twins accepted"
    )
    table.caption_justify = "left"
    return table


def problems_table(problems: Iterable[Problem]) -> Table:
    """Returns problems in a table."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("problem", no_wrap=True)
    table.add_column("dtypes")
    table.add_column("what it computes")
    for problem in problems:
        add_row(table, problem.name, ", ".join(problem.dtypes), problem.description)
    return table


def problem_panel(problem: Problem) -> RenderableType:
    """Returns a problem with the prototypes of its entry points."""
    facts = Table.grid(padding=(0, 2))
    facts.add_column(style="dim")
    facts.add_column()
    for one in problem.inputs:
        shape = ", ".join(str(extent) for extent in one.shape)
        add_row(facts, "input", f"{one.name} ({shape}) {one.dtype or 'of the dtype'}")
    add_row(facts, "outputs", ", ".join(problem.outputs))
    for axis in problem.axes:
        size = f"= {axis.fixed}" if axis.fixed is not None else f"{axis.minimum} to {axis.maximum}"
        multiple = f", a multiple of {axis.multiple_of}" if axis.multiple_of > 1 else ""
        add_row(facts, "axis", f"{axis.name} {size}{multiple}")
    add_row(facts, "dtypes", ", ".join(problem.dtypes))
    for cell in problem.timed:
        add_row(facts, "timed", axes_text(cell))
    for cell in problem.timed_gpu:
        add_row(facts, "timed on a GPU", axes_text(cell))
    return Panel(
        Group(Text(problem.description), facts, Text(), Text(problem.prototypes(), style="cyan")),
        title=Text(problem.name, style="bold"),
        title_align="left",
        expand=False,
    )


@contextmanager
def progress(console: Console, what: str, total: int) -> Iterator[Callable[[], None]]:
    """Shows a bar while the body runs; calling what it yields moves the bar on by one."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)
