"""The command line: `ouroboros judge kernel.cpp --problem softmax`.

Exit codes: 0 fine, 1 the candidate is at fault, 2 misuse, 3 the machine or the problem is.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text

import ouroboros
from ouroboros import cli_clock, cli_plan, render
from ouroboros.cli_common import (
    CANDIDATE_FAULT,
    FINE,
    INFRASTRUCTURE_FAULT,
    MISUSE,
    Mode,
    Stage,
    exit_code,
    parse_seed,
    put_out,
)
from ouroboros.verdict import Verdict

__all__ = ["app", "main"]

app = typer.Typer(
    help="The referee that machine-written kernels cannot fool.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
problems_app = typer.Typer(help="The problems that ship with the library.")
app.add_typer(problems_app, name="problems")
app.add_typer(cli_plan.app, name="plan")
app.command()(cli_clock.bench)
app.command()(cli_clock.calibrate)

_MISUSE = (
    ouroboros.InvalidArgumentError,
    ouroboros.NotFoundError,
    ouroboros.IOFailure,
)


def main() -> None:
    """Runs the command line and ends the process with its exit code."""
    try:
        app(standalone_mode=True)
    except KeyboardInterrupt:
        sys.exit(130)
    except _MISUSE as error:
        _complain(error)
        sys.exit(MISUSE)
    except ouroboros.OuroborosError as error:
        _complain(error)
        sys.exit(INFRASTRUCTURE_FAULT)


def _complain(error: Exception) -> None:
    code = getattr(error, "code", "error")
    # Not wrapped: what is piped has no width, and a path that is broken in two is of no use.
    text = f"[bold red]{escape(str(code))}[/]: {escape(str(error))}"
    Console(stderr=True).print(text, soft_wrap=True)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ouroboros {ouroboros.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Say it.")
    ] = False,
) -> None:
    """The referee that machine-written kernels cannot fool."""


@app.command()
def judge(
    file: Annotated[Path, typer.Argument(help="The candidate: .cpp, .py (Triton), .cu or .ptx.")],
    problem: Annotated[str, typer.Option("--problem", "-p", help="A name or a file.")],
    json_path: Annotated[
        str | None,
        typer.Option("--json", help="Write the verdict here; - prints it and nothing else."),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(parser=parse_seed, metavar="0x...", help="Seed of the cases."),
    ] = None,
    until: Annotated[Stage, typer.Option(help="How far to judge.")] = Stage.time,
    gate: Annotated[bool, typer.Option("--gate", help="And the stability gate.")] = False,
    as_called: Annotated[
        bool, typer.Option("--as-called", help="And what callers in Python pay, on a GPU.")
    ] = False,
    mode: Annotated[Mode, typer.Option(help="When timing stops.")] = Mode.decide,
    dtype: Annotated[
        list[str] | None, typer.Option(help="Judge this element type only; may be repeated.")
    ] = None,
    compile_baseline: Annotated[
        bool, typer.Option(help="Time against the compiled baselines too.")
    ] = True,
    target: Annotated[
        str, typer.Option(help="Architecture to compile GPU candidates for; by default the GPU's.")
    ] = "",
    device: Annotated[int, typer.Option(help="Number of the GPU.")] = 0,
    replay_seconds: Annotated[
        float | None, typer.Option(help="Time limit of one call of the candidate.")
    ] = None,
    feedback: Annotated[
        bool, typer.Option("--feedback", help="Print the text for a model as well.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Diagnostics on standard error.")
    ] = False,
) -> None:
    """Judge a candidate against a problem."""
    limits: dict[str, float] = {}
    if replay_seconds is not None:
        limits["replay_seconds"] = replay_seconds
    verdict = ouroboros.verify(
        file,
        problem,
        until="gate" if gate else until.value,
        as_called=as_called,
        seed=seed,
        mode=mode.value,
        dtypes=dtype,
        baselines=None if compile_baseline else ("eager",),
        limits=limits,
        target=target,
        device=device,
        log=_log if verbose else None,
    )
    put_out(verdict, json_path)
    if feedback and json_path != "-":
        Console().print(escape(verdict.feedback()))
    raise typer.Exit(exit_code(verdict.status))


def _log(line: str) -> None:
    typer.echo(line, err=True)


@app.command()
def replay(
    verdict_file: Annotated[Path, typer.Argument(metavar="VERDICT.json", help="A verdict.")],
    source: Annotated[
        Path | None, typer.Option(help="Use this source in place of the recorded one.")
    ] = None,
    problem: Annotated[
        str | None, typer.Option("--problem", "-p", help="Where the record's is not to be found.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Judge a recorded candidate again, with the recorded seed, and compare."""
    from ouroboros.replay import replay as run_replay

    outcome = run_replay(verdict_file, source=source, problem=problem)
    if as_json:
        typer.echo(json.dumps(outcome.to_dict(), indent=2))
    else:
        Console().print(render.replay_panel(outcome))
    if outcome.verdict.status.is_infrastructure_fault and not outcome.reproduced:
        raise typer.Exit(INFRASTRUCTURE_FAULT)
    raise typer.Exit(FINE if outcome.reproduced else CANDIDATE_FAULT)


@app.command()
def report(
    verdict_files: Annotated[
        list[Path], typer.Argument(metavar="VERDICT.json...", help="One or several verdicts.")
    ],
    out: Annotated[Path, typer.Option(help="Where the page goes.")] = Path("report.html"),
) -> None:
    """Write verdicts as one HTML page, and print what they say."""
    verdicts = [Verdict.load(file) for file in verdict_files]
    path = ouroboros.report(verdicts, out)
    console = Console()
    console.print(render.report_view(verdicts))
    console.print(Text(f"written: {path}"))


@app.command()
def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Say what this machine offers, and what is missing."""
    from ouroboros.doctor import examine

    checks = examine()
    if as_json:
        typer.echo(json.dumps([check.to_dict() for check in checks], indent=2))
    else:
        Console().print(render.doctor_table(checks))
    broken = any(check.state == "missing" for check in checks)
    raise typer.Exit(INFRASTRUCTURE_FAULT if broken else FINE)


@app.command()
def selftest(
    only: Annotated[
        list[str] | None, typer.Option(help="Run this attack only; may be repeated.")
    ] = None,
    gpu: Annotated[
        bool,
        typer.Option("--gpu", help="GPU candidates; without a GPU those that need none."),
    ] = False,
    twins: Annotated[bool, typer.Option(help="Judge the honest twins as well.")] = True,
    json_path: Annotated[
        str | None,
        typer.Option("--json", help="Write the results here; - prints them and nothing else."),
    ] = None,
) -> None:
    """Run the attacks that ship with the library, and their honest twins."""
    from ouroboros.selftest import has_gpu, load_attacks, load_gpu_attacks, run_attacks

    on_gpu = gpu and has_gpu()
    attacks = load_gpu_attacks(on_gpu=on_gpu) if gpu else load_attacks()
    if only:
        unknown = sorted(set(only) - {attack.name for attack in attacks})
        if unknown:
            raise ouroboros.NotFoundError(f"no attack is called {', '.join(unknown)}")
        attacks = [attack for attack in attacks if attack.name in only]
    quiet = json_path == "-"
    console = Console(quiet=quiet)
    results = []
    workers = len(os.sched_getaffinity(0)) if gpu else 1
    with render.progress(console, "attacks", len(attacks)) as advance:
        for result in run_attacks(attacks, twins=twins, workers=workers):
            results.append(result)
            advance()
    console.print(render.wall(results))
    if gpu and not on_gpu and not only:
        left_out = len(load_gpu_attacks(on_gpu=True)) - len(attacks)
        console.print(
            f"there is no GPU here: {left_out} attacks that only a replay answers, left out"
        )
    if json_path is not None:
        text = json.dumps([result.to_dict() for result in results], indent=2)
        if quiet:
            typer.echo(text)
        else:
            Path(json_path).write_text(text + "\n", encoding="utf-8")
    fine = all(result.passed or result.is_known_hole for result in results)
    raise typer.Exit(FINE if fine else CANDIDATE_FAULT)


@app.command()
def demo(
    compile_baseline: Annotated[
        bool, typer.Option(help="Time against torch.compile as well.")
    ] = True,
) -> None:
    """Judge two honest kernels and six cheats, live."""
    from ouroboros.demo import run_demo

    raise typer.Exit(FINE if run_demo(Console(), compile_baseline) else CANDIDATE_FAULT)


@app.command()
def schema() -> None:
    """Print the JSON schema of a verdict."""
    typer.echo(json.dumps(Verdict.json_schema(), indent=2))


@problems_app.callback(invoke_without_command=True)
def problems_default(context: typer.Context) -> None:
    """The problems that ship with the library."""
    if context.invoked_subcommand is None:
        list_problems()


@problems_app.command("list")
def list_problems() -> None:
    """List the problems that ship with the library."""
    Console().print(render.problems_table(_shipped()))


@problems_app.command("show")
def show_problem(
    name: Annotated[str, typer.Argument(help="A name or a file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")] = False,
) -> None:
    """Show a problem and the prototypes that a candidate has to implement."""
    problem = ouroboros.problems.load(name)
    if as_json:
        typer.echo(json.dumps(_described(problem), indent=2))
    else:
        Console().print(render.problem_panel(problem))


def _shipped() -> list[ouroboros.Problem]:
    from ouroboros._ouroboros import get_problem, problem_names

    return [get_problem(name) for name in problem_names()]


def _described(problem: ouroboros.Problem) -> dict[str, Any]:
    return {
        "name": problem.name,
        "description": problem.description,
        "origin": problem.origin,
        "axes": [
            {
                "name": axis.name,
                "minimum": axis.minimum,
                "maximum": axis.maximum,
                "multiple_of": axis.multiple_of,
                "fixed": axis.fixed,
            }
            for axis in problem.axes
        ],
        "inputs": [
            {"name": one.name, "shape": list(one.shape), "dtype": one.dtype, "values": one.values}
            for one in problem.inputs
        ],
        "outputs": list(problem.outputs),
        "dtypes": list(problem.dtypes),
        "timed": [dict(cell) for cell in problem.timed],
        "timed_gpu": [dict(cell) for cell in problem.timed_gpu],
        "prototypes": problem.prototypes(),
    }


if __name__ == "__main__":
    main()
