"""The command line's part about the clock: `ouroboros bench A B` and `ouroboros calibrate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

import ouroboros
from ouroboros import render
from ouroboros.cli_common import Cache, Mode, exit_code, parse_seed, put_out

__all__ = ["bench", "calibrate", "parse_cell"]


def parse_cell(text: str) -> dict[str, int]:
    """Returns the axes of e.g. "rows=8192,cols=4096"."""
    cell: dict[str, int] = {}
    for part in text.split(","):
        name, equals, size = part.partition("=")
        if not equals or not name.strip() or not size.strip().isdecimal():
            raise typer.BadParameter(f"'{part}' is no axis with its size, e.g. rows=8192")
        cell[name.strip()] = int(size)
    return cell


def bench(
    a: Annotated[
        Path, typer.Argument(help="A candidate: .py, .cu, .ptx or .cpp; or a .plan file.")
    ],
    b: Annotated[Path, typer.Argument(help="What it is timed against; may be the same file.")],
    problem: Annotated[str, typer.Option("--problem", "-p", help="A name or a file.")],
    shapes: Annotated[
        list[str] | None,
        typer.Option(help="Axes of a cell, e.g. rows=8192,cols=4096; may be repeated."),
    ] = None,
    mode: Annotated[Mode, typer.Option(help="When timing stops.")] = Mode.report,
    cache: Annotated[
        Cache, typer.Option(help="What the L2 cache holds before each call.")
    ] = Cache.cold,
    gate: Annotated[bool, typer.Option("--gate", help="And the stability gate.")] = False,
    dtype: Annotated[str | None, typer.Option(help="Element type; by default the first.")] = None,
    seed: Annotated[
        int | None,
        typer.Option(parser=parse_seed, metavar="0x...", help="Seed of inputs and orders."),
    ] = None,
    device: Annotated[int, typer.Option(help="Number of the GPU.")] = 0,
    json_path: Annotated[
        str | None,
        typer.Option("--json", help="Write the verdict here; - prints it and nothing else."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write a report there: one HTML page.")] = None,
) -> None:
    """Time A against B, block by block on the same pages: both on a GPU, or both on the host."""
    referee = ouroboros.Referee(
        until="gate" if gate else "time",
        mode=mode.value,
        cache=cache.value,
        dtypes=[dtype] if dtype else (),
        seed=seed,
        device=device,
    )
    cells = [parse_cell(text) for text in shapes] if shapes else None
    verdict = referee.compare(problem, a, b, cells=cells)
    put_out(verdict, json_path)
    if out is not None:
        ouroboros.report([verdict], out)
        typer.echo(f"written: {out}", err=json_path == "-")
    raise typer.Exit(exit_code(verdict.status))


def calibrate(
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Measure anew: otherwise once for each boot.")
    ] = False,
    device: Annotated[int, typer.Option(help="Number of the GPU.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Print what this GPU's clock can and cannot resolve."""
    measured = ouroboros.Referee(device=device).calibrate(fresh=fresh)
    if as_json:
        typer.echo(measured.model_dump_json(indent=2))
        return
    Console().print(render.calibration_view(measured))
