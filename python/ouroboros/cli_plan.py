"""The command line's part about launch plans: `ouroboros plan show softmax.plan`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ouroboros import plan as plans
from ouroboros.render import add_row, shown

__all__ = ["app"]

app = typer.Typer(help="Launch plans: what a GPU candidate would launch.", no_args_is_help=True)

_File = Annotated[Path, typer.Argument(metavar="FILE", help="A launch plan.")]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


@app.command()
def show(file: _File, as_json: _Json = False) -> None:
    """Show launches, buffers, modules and what each kernel uses."""
    plan = plans.load(file)
    document = plan.document()
    modules = plans.modules(plan)
    if as_json:
        described = {**document, "modules": [module.to_dict() for module in modules]}
        typer.echo(json.dumps(described, indent=2))
        return
    console = Console()
    variant = f", {document['variant']}" if document["variant"] else ""
    heading = f"{document['language']} for {document['target']}, {document['origin']}{variant}"
    console.print(Text(heading, style="bold"))
    for table in (
        _launches(document, modules),
        _buffers(document["buffers"]),
        _modules(modules),
    ):
        console.print(table)


@app.command()
def audit(
    file: _File,
    library_kernels: Annotated[
        bool, typer.Option(help="Allow kernels of libraries to be launched.")
    ] = True,
    launches: Annotated[int, typer.Option(min=0, help="The most launches.")] = 4096,
    scratch_bytes: Annotated[
        int, typer.Option(min=0, help="The most scratch and state together.")
    ] = 1 << 32,
    as_json: _Json = False,
) -> None:
    """Say why the plan may not be replayed; exits with 1 if there is a reason."""
    refusals = plans.load(file).audit(
        library_kernels=library_kernels, launches=launches, scratch_bytes=scratch_bytes
    )
    if as_json:
        found = [{"kind": one.kind, "evidence": one.evidence} for one in refusals]
        typer.echo(json.dumps(found, indent=2))
    else:
        console = Console()
        for refusal in refusals:
            console.print(Text(refusal.kind, style="bold red"), Text(shown(refusal.evidence)))
        if not refusals:
            console.print("nothing against it", style="green")
    raise typer.Exit(1 if refusals else 0)


@app.command()
def diff(first: _File, second: _File, as_json: _Json = False) -> None:
    """Print what differs between two plans."""
    differences = plans.diff(plans.load(first), plans.load(second))
    if as_json:
        found = [
            {"path": one.path, "first": one.first, "second": one.second} for one in differences
        ]
        typer.echo(json.dumps(found, indent=2))
        return
    table = _table("", "field", first.name, second.name)
    for one in differences:
        add_row(table, one.path, _value(one.first), _value(one.second))
    Console().print(table if differences else "the same")


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title or None, title_justify="left", box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _launches(document: dict[str, Any], modules: list[plans.Module]) -> Table:
    table = _table(
        "launches", "", "what", "grid", "block", "shared B", "registers", "stack B", "on"
    )
    names = [buffer["name"] for buffer in document["buffers"]]
    for index, launch in enumerate(document["launches"]):
        if launch["kind"] == "kernel":
            add_row(table, str(index), *_kernel(launch, modules[launch["module"]], names))
        else:
            source = ""
            if launch["kind"] == "copy":
                source = f" from {_place(names, launch['from_buffer'], launch['from_offset'])}"
            target = _place(names, launch["buffer"], launch["offset"]) + source
            add_row(table, str(index), launch["kind"], "", "", "", "", "", target)
    return table


def _kernel(launch: dict[str, Any], module: plans.Module, names: list[str]) -> list[str]:
    resources = module.kernel(launch["function"])
    shape = [_dim(launch["grid"]), _dim(launch["block"])]
    if launch["cluster"] != [1, 1, 1]:
        shape[0] += f" by {_dim(launch['cluster'])}"
    if launch["cooperative"]:
        shape[0] += " together"
    targets = sorted([*launch["pointers"], *launch["tensor_maps"]], key=lambda one: int(one["at"]))
    on = ", ".join(_place(names, one["buffer"], one["offset"]) for one in targets)
    if resources is None:
        return [launch["function"], *shape, str(launch["shared_bytes"]), "?", "?", on]
    shared = str(launch["shared_bytes"] + resources.shared_bytes)
    used = [shared, str(resources.registers), str(resources.stack_bytes)]
    return [launch["function"], *shape, *used, on]


def _buffers(buffers: list[dict[str, Any]]) -> Table:
    table = _table("buffers", "", "name", "role", "dtype", "shape", "strides", "bytes")
    for index, buffer in enumerate(buffers):
        add_row(
            table,
            str(index),
            buffer["name"],
            buffer["role"],
            buffer.get("dtype", ""),
            _value(buffer.get("shape", "")),
            _value(buffer.get("strides", "")),
            str(buffer["bytes"]),
        )
    return table


def _modules(modules: list[plans.Module]) -> Table:
    table = _table("modules", "", "origin", "target", "kernels", "bytes", "SHA-256")
    for index, module in enumerate(modules):
        target = module.target or "no cubin"
        kernels = ", ".join(kernel.function for kernel in module.kernels)
        size = str(module.image_bytes)
        add_row(table, str(index), module.origin, target, shown(kernels), size, module.sha256[:12])
    return table


def _dim(sizes: list[int]) -> str:
    return " x ".join(map(str, sizes))


def _place(names: list[str], buffer: int, offset: int) -> str:
    return names[buffer] + (f"+{offset}" if offset else "")


def _value(value: Any) -> str:
    if value is None:
        return "-"
    return shown(value if isinstance(value, str) else json.dumps(value), 120)
