"""flashinfer-trace Definitions, with the Workloads that say what to time.

A Definition is one JSON object: axes (constant or variable), inputs and outputs with shapes and
dtypes, and the source of a reference with a function `run`. Workloads are lines of JSON: values of
the variable axes, and of inputs that are no tensors.
"""

from __future__ import annotations

import json
import linecache
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import torch

from ouroboros._ouroboros import (
    Axis,
    Input,
    InvalidArgumentError,
    NotFoundError,
    Problem,
    UnsupportedError,
)
from ouroboros.dtypes import DTYPES

__all__ = ["from_definition", "from_file"]

_FLOATING = ("float16", "bfloat16", "float32", "float64")
_INDICES = ("int32", "int64")
_LARGEST = 8192


def from_file(
    path: str | Path,
    *,
    workloads: str | Path | None = None,
    index_axes: Mapping[str, str] | None = None,
) -> Problem:
    """Returns the problem of a Definition's file.

    Args:
        path: The JSON file.
        workloads: JSON lines of Workloads, or of Traces that hold one. By default a `.jsonl` of the
            same name beside the file or in the `workloads` folder of the same data set, if any.
        index_axes: As for `from_definition`.

    Raises:
        NotFoundError: There is no such file.
        InvalidArgumentError: A file is malformed; the message names the field.
        UnsupportedError: The Definition asks for what the referee cannot judge.
    """
    file = Path(path)
    if not file.is_file():
        raise NotFoundError(f"there is no file '{file}'")
    definition = _parse(file.read_text(encoding="utf-8"), str(file))
    lines: list[Mapping[str, Any]] = []
    beside = Path(workloads) if workloads is not None else _workloads_of(file)
    if beside is not None:
        if not beside.is_file():
            raise NotFoundError(f"there is no file '{beside}'")
        for number, line in enumerate(beside.read_text(encoding="utf-8").splitlines(), 1):
            if line.strip():
                lines.append(_parse(line, f"{beside}:{number}"))
    return from_definition(definition, lines, index_axes=index_axes)


def from_definition(
    definition: Mapping[str, Any],
    workloads: Iterable[Mapping[str, Any]] = (),
    *,
    index_axes: Mapping[str, str] | None = None,
) -> Problem:
    """Returns the problem of a Definition.

    The reference's source is run: it is trusted as the caller's own code is.

    Args:
        definition: The Definition as plain data.
        workloads: Workloads, or Traces that hold one; those of other Definitions are left out.
        index_axes: For each integer input the axis that bounds its values: a Definition does not
            say what its integers mean.

    Raises:
        As `from_file`.
    """
    name = str(_field(definition, "name", "the Definition"))
    what = f"Definition '{name}'"
    if definition.get("constraints"):
        raise UnsupportedError(
            f"{what}: the constraint '{definition['constraints'][0]}' relates axes or values to "
            "each other, and derived cases would break it"
        )
    cells, scalars = _read_workloads(name, what, workloads)
    axes = _axes(what, _field(definition, "axes", what), cells)
    described = _field(definition, "inputs", what)
    dtypes = {key: _dtype(f"{what}: the input '{key}'", one) for key, one in described.items()}
    tensors = {key: one for key, one in described.items() if one.get("shape") is not None}
    floating = [dtypes[key] for key in tensors if dtypes[key] in _FLOATING]
    case = floating[0] if floating else "float32"
    constants: dict[str, Any] = {}
    inputs: list[Input] = []
    for key, one in described.items():
        if key in tensors:
            inputs.append(_input(what, key, one["shape"], dtypes[key], case, index_axes or {}))
        elif key in scalars:
            constants[key] = scalars[key]
        else:
            raise UnsupportedError(
                f"{what}: '{key}' is no tensor, and no Workload says what its value is"
            )
    outputs = _field(definition, "outputs", what)
    for key, one in outputs.items():
        _dtype(f"{what}: the output '{key}'", one)
    return Problem(
        name=name,
        description=str(definition.get("description") or definition.get("op_type") or ""),
        origin="inline",
        axes=axes,
        inputs=inputs,
        outputs=list(outputs),
        dtypes=[case],
        timed=[{**{a.name: a.fixed for a in axes if a.fixed is not None}, **c} for c in cells],
        reference=_reference(
            what,
            str(_field(definition, "reference", what)),
            [one.name for one in inputs],
            constants,
            list(outputs),
        ),
    )


def _parse(text: str, where: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidArgumentError(f"{where}: this is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidArgumentError(f"{where}: expected a JSON object, not {type(value).__name__}")
    return value


def _field(record: Mapping[str, Any], key: str, what: str) -> Any:
    if key not in record:
        raise InvalidArgumentError(f"{what}: the field '{key}' is missing")
    return record[key]


def _workloads_of(file: Path) -> Path | None:
    """Returns where the Workloads of a Definition's file are kept, if there are any."""
    beside = file.with_suffix(".jsonl")
    places = [beside]
    for folder in file.parents:
        if folder.name == "definitions":
            places.append(folder.parent / "workloads" / beside.relative_to(folder))
            places.append(folder.parent / "workloads" / beside.name)
            break
    return next((place for place in places if place.is_file()), None)


def _read_workloads(
    name: str, what: str, workloads: Iterable[Mapping[str, Any]]
) -> tuple[list[dict[str, int]], dict[str, Any]]:
    """Returns the distinct cells, and the values of inputs that are no tensors."""
    cells: list[dict[str, int]] = []
    scalars: dict[str, Any] = {}
    for record in workloads:
        if record.get("definition", name) != name:
            continue
        workload = record.get("workload", record)
        cell = {str(key): int(value) for key, value in workload.get("axes", {}).items()}
        for key, one in workload.get("inputs", {}).items():
            if one.get("type") == "safetensors":
                raise UnsupportedError(
                    f"{what}: a Workload takes '{key}' from a file; the referee draws its own "
                    "inputs, which a candidate cannot know"
                )
            if one.get("type") != "scalar":
                continue
            value = _field(one, "value", f"{what}: the Workload's input '{key}'")
            if scalars.setdefault(key, value) != value:
                raise UnsupportedError(
                    f"{what}: Workloads give '{key}' the values {scalars[key]} and {value}; it "
                    "becomes a constant of the problem, so keep those with one value"
                )
        if cell not in cells:
            cells.append(cell)
    return cells, scalars


def _axes(what: str, axes: Mapping[str, Any], cells: list[dict[str, int]]) -> list[Axis]:
    made: list[Axis] = []
    for key, one in axes.items():
        kind = one.get("type")
        if kind == "const":
            made.append(Axis(key, fixed=int(_field(one, "value", f"{what}: the axis '{key}'"))))
        elif kind == "var":
            largest = max([_LARGEST, *(cell[key] for cell in cells if key in cell)])
            made.append(Axis(key, maximum=largest))
        else:
            raise UnsupportedError(
                f"{what}: the axis '{key}' has the type '{kind}'; only const and var are known"
            )
    return made


def _dtype(what: str, described: Mapping[str, Any]) -> str:
    dtype = str(_field(described, "dtype", what))
    if described.get("shape") is not None and dtype not in DTYPES:
        raise UnsupportedError(
            f"{what} has the dtype {dtype}, which the referee cannot judge; it knows "
            f"{', '.join(DTYPES)}"
        )
    return dtype


def _input(
    what: str,
    key: str,
    shape: list[str | int],
    dtype: str,
    case: str,
    index_axes: Mapping[str, str],
) -> Input:
    if dtype not in _INDICES:
        return Input(key, shape, dtype=None if dtype == case else dtype)
    if key not in index_axes:
        raise UnsupportedError(
            f"{what}: the input '{key}' holds integers, and a Definition does not say which are "
            f"legal; where they are indices, name the axis that bounds them: "
            f'flashinfer.from_file(path, index_axes={{"{key}": ...}})'
        )
    return Input(key, shape, dtype=dtype, values="index", index_axis=index_axes[key])


def _reference(
    what: str,
    source: str,
    names: list[str],
    constants: Mapping[str, Any],
    outputs: list[str],
) -> Callable[..., Any]:
    """Runs the reference's source and returns a function of the tensors alone."""
    file = f"<{what}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    namespace: dict[str, Any] = {"__name__": "reference", "torch": torch}
    try:
        exec(compile(source, file, "exec"), namespace)
    except Exception as error:
        raise InvalidArgumentError(
            f"{what}: the reference raised {type(error).__name__}: {error}"
        ) from error
    run = namespace.get("run")
    if not callable(run):
        raise InvalidArgumentError(f"{what}: the reference defines no function 'run'")

    def reference(*tensors: torch.Tensor) -> Any:
        results = run(**dict(zip(names, tensors, strict=True)), **constants)
        return tuple(results[key] for key in outputs) if isinstance(results, dict) else results

    return reference
