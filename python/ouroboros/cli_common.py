"""What the commands share: exit codes, options' values, and how a verdict is put out."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

import typer
from rich.console import Console

from ouroboros import render
from ouroboros.verdict import Status, Verdict

__all__ = [
    "CANDIDATE_FAULT",
    "FINE",
    "INFRASTRUCTURE_FAULT",
    "MISUSE",
    "Cache",
    "Mode",
    "Stage",
    "exit_code",
    "parse_seed",
    "put_out",
]

FINE, CANDIDATE_FAULT, MISUSE, INFRASTRUCTURE_FAULT = 0, 1, 2, 3


class Stage(str, Enum):
    """How far to judge."""

    compile = "compile"
    sweep = "sweep"
    time = "time"
    gate = "gate"


class Mode(str, Enum):
    """When timing stops."""

    screen = "screen"
    decide = "decide"
    report = "report"


class Cache(str, Enum):
    """What the L2 cache holds before each timed call."""

    cold = "cold"
    dirty = "dirty"
    hot = "hot"
    rotated = "rotated"


def exit_code(status: Status) -> int:
    """Returns the exit code that a status stands for."""
    if status is Status.ok:
        return FINE
    return INFRASTRUCTURE_FAULT if status.is_infrastructure_fault else CANDIDATE_FAULT


def parse_seed(text: str) -> int:
    """Returns a seed that was written in decimal or as 0x..."""
    try:
        seed = int(text, 0)
    except ValueError:
        raise typer.BadParameter(f"'{text}' is no number; write it as 0x... or decimal") from None
    if not 0 <= seed < 2**64:
        raise typer.BadParameter("a seed has 64 bits")
    return seed


def put_out(verdict: Verdict, json_path: str | None) -> None:
    """Prints a verdict for people, and writes its JSON; for "-" prints the JSON alone."""
    if json_path == "-":
        typer.echo(verdict.to_json(indent=2))
        return
    Console().print(render.verdict_panel(verdict))
    if json_path is not None:
        Path(json_path).write_text(verdict.to_json(indent=2) + "\n", encoding="utf-8")
