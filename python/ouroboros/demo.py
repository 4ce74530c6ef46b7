"""Two honest kernels and six cheats, judged live."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ouroboros import render
from ouroboros.referee import Referee, Stage
from ouroboros.selftest import load_attacks, packaged_folder
from ouroboros.verdict import Status, Verdict

__all__ = ["run_demo"]

_HONEST = ("softmax", "add_rmsnorm_gelu")


@dataclass(frozen=True)
class _Entry:
    name: str
    file: Path
    problem: str
    until: Stage
    limits: tuple[tuple[str, float], ...]
    statuses: tuple[str, ...]


def run_demo(console: Console, compile_baseline: bool) -> bool:
    """Judges the demo's candidates and prints a table; true when all got what they should."""
    kernels = packaged_folder("kernels")
    entries = [
        _Entry(f"honest {name}", kernels / f"{name}.cpp", name, "time", (), ("ok",))
        for name in _HONEST
    ]
    entries += [
        _Entry(one.name, one.file, one.problem, one.until, one.limits, one.statuses)
        for one in load_attacks()
        if one.demo
    ]
    baselines = ("eager", "compile") if compile_baseline else ("eager",)
    done: list[tuple[_Entry, Verdict]] = []
    with Live(_table(done, entries[0].name), console=console, refresh_per_second=4) as live:
        for index, entry in enumerate(entries):
            honest = entry.until == "time" and entry.statuses == ("ok",)
            referee = Referee(
                until=entry.until,
                dtypes=("float32",) if honest else (),
                limits=dict(entry.limits),
                baselines=baselines if honest else ("eager",),
            )
            done.append((entry, referee.judge(entry.problem, entry.file)))
            upcoming = entries[index + 1].name if index + 1 < len(entries) else None
            live.update(_table(done, upcoming), refresh=True)
    return all(verdict.status.value in entry.statuses for entry, verdict in done)


def _table(done: list[tuple[_Entry, Verdict]], upcoming: str | None) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("candidate", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("evidence", overflow="fold")
    for entry, verdict in done:
        text = _figures(verdict) if verdict.status is Status.ok else _evidence(verdict)
        expected = verdict.status.value in entry.statuses
        render.add_row(
            table,
            entry.name,
            render.status_text(verdict.status),
            Text(text) if expected else Text(f"UNEXPECTED: {text}", style="bold red"),
        )
    if upcoming is not None:
        table.add_row(Text(upcoming, style="dim"), Text("...", style="dim"), "")
    return table


def _evidence(verdict: Verdict) -> str:
    """What happened, without the case in which it did: one line in a wide terminal."""
    return render.evidence_text(verdict).split(", in case ")[0]


def _figures(verdict: Verdict) -> str:
    sweep = verdict.correctness
    lines = [f"{sweep.cases_passed} of {sweep.cases_total} cases"]
    for cell in verdict.timing.cells:
        ratios = [
            f"{render.speedup_text(one.speedup)} against {one.name}"
            if one.status == "timed"
            else f"{one.name} unavailable: {render.shown(one.reason, 120)}"
            for one in cell.baselines
        ]
        lines.append(f"{render.axes_text(cell.axes)}: " + ", ".join(ratios))
    return "\n".join(lines)
