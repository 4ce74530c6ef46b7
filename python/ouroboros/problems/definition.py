"""Problems from Python functions: the decorator, and what it shares with `verify`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import torch

from ouroboros._ouroboros import Axis, Baseline, Input, InvalidArgumentError, Problem
from ouroboros.problems.naming import free_name
from ouroboros.problems.tensors import dtype_names, example_input

__all__ = ["InputSpec", "from_callable", "problem"]

Reference: TypeAlias = Callable[..., Any]

InputSpec: TypeAlias = str | Sequence[str | int] | Input | torch.Tensor
"""The shape of an input as text (``"rows cols"``, ``"rows 2*half"``, ``"8 64"``; ``""`` for a
scalar) or as a list of extents, an `Input` for everything else, or an example tensor."""

Inputs: TypeAlias = Mapping[str, InputSpec] | Sequence[torch.Tensor]


def problem(
    *,
    inputs: Inputs,
    parameters: Iterable[str] = (),
    outputs: Sequence[str] | None = None,
    axes: Iterable[Axis] = (),
    dtypes: Sequence[str | torch.dtype] | None = None,
    timed: Sequence[Mapping[str, int]] | None = None,
    timed_gpu: Sequence[Mapping[str, int]] = (),
    name: str | None = None,
    description: str | None = None,
    oracle: Reference | None = None,
    baselines: Sequence[Baseline] = (),
    nan_meaningful: bool = False,
    inf_meaningful: bool = False,
    library_kernels: str = "forbid",
) -> Callable[[Reference], Problem]:
    """Makes a problem of the function below it, which becomes the reference.

    Args:
        inputs: Shapes of the function's arguments, by name.
        parameters: Inputs that are weights: drawn near one or around zero.
        outputs: Names of what the function returns; by default "out", or "out0" and so on where a
            call at the smallest shape returns several tensors.
        axes: Limits of axes; one that is not listed goes from 1 to 8192.
        dtypes: Element types to judge, by name or as PyTorch's; float32 by default.
        timed: Cells to time, each a value for every axis. The first is also swept.
        timed_gpu: Cells to time on a GPU; by default the same.
        name: By default the function's.
        description: By default the first line of the function's docstring.
        oracle: True values from float64 inputs; by default the function itself in float64.
        baselines: What to time against besides eager mode and the compiler.
        nan_meaningful: Cases with NaN are part of the sweep.
        inf_meaningful: Cases with infinities are part of the sweep.
        library_kernels: Kernels of libraries in GPU candidates: "forbid", "allow" as long as the
            candidate's own contribute, or "report".

    Returns:
        A decorator that returns the `Problem`.
    """

    def decorate(reference: Reference) -> Problem:
        return from_callable(
            reference,
            inputs=inputs,
            parameters=parameters,
            outputs=outputs,
            axes=axes,
            dtypes=dtypes,
            timed=timed,
            timed_gpu=timed_gpu,
            name=name,
            description=description,
            oracle=oracle,
            baselines=baselines,
            nan_meaningful=nan_meaningful,
            inf_meaningful=inf_meaningful,
            library_kernels=library_kernels,
        )

    return decorate


def from_callable(
    reference: Reference,
    *,
    inputs: Inputs | None = None,
    parameters: Iterable[str] = (),
    outputs: Sequence[str] | None = None,
    axes: Iterable[Axis] = (),
    dtypes: Sequence[str | torch.dtype] | None = None,
    timed: Sequence[Mapping[str, int]] | None = None,
    timed_gpu: Sequence[Mapping[str, int]] = (),
    name: str | None = None,
    description: str | None = None,
    oracle: Reference | None = None,
    baselines: Sequence[Baseline] = (),
    nan_meaningful: bool = False,
    inf_meaningful: bool = False,
    library_kernels: str = "forbid",
) -> Problem:
    """Returns a problem whose reference is a function on tensors.

    Arguments are those of `problem`. Example tensors as inputs fix their shapes: no axis is made of
    them, equal sizes or not. Their dtype is then the default of `dtypes`, and unless `timed` says
    otherwise their shapes are the one cell that is timed. Examples of int32 and int64 that are
    never negative become indices from 0 to their largest value.

    Raises:
        InvalidArgumentError: The inputs do not match the function's arguments, or a field is wrong.
        UnsupportedError: An example has a dtype that the referee cannot judge.
    """
    if not callable(reference):
        raise InvalidArgumentError(
            f"a reference is a function on tensors, not {type(reference).__name__}"
        )
    if not inputs:
        raise InvalidArgumentError(
            'say what the inputs look like, e.g. inputs={"x": "rows cols"}, or give example tensors'
        )
    specs = _named(reference, inputs)
    weights = set(parameters)
    if unknown := weights - specs.keys():
        raise InvalidArgumentError(f"parameters: there is no input '{sorted(unknown)[0]}'")

    examples = [one for one in specs.values() if isinstance(one, torch.Tensor)]
    floating = [one.dtype for one in examples if one.is_floating_point()]
    if dtypes is None:
        dtypes = [floating[0] if floating else torch.float32]
    judged = dtype_names(_listed("dtypes", dtypes, (str, torch.dtype), 'dtypes=["float32"]'))
    made: list[Input] = []
    example_of_axes = 'axes=[ouroboros.Axis("rows", maximum=64)]'
    made_axes = {axis.name: axis for axis in _listed("axes", axes, Axis, example_of_axes)}
    for key, spec in specs.items():
        if isinstance(spec, torch.Tensor):
            one, extra = example_input(key, spec, floating[0] if floating else None, key in weights)
            if extra is not None:
                made_axes.setdefault(extra.name, extra)
        else:
            one = _input(key, spec, key in weights)
        made.append(one)
        for axis in _axes_of(one):
            made_axes.setdefault(axis, Axis(axis))
    if timed is None:
        fixed = {axis.name: axis.fixed for axis in made_axes.values() if axis.fixed is not None}
        timed = [fixed] if examples and len(fixed) == len(made_axes) else []
    for option, cells in (("timed", timed), ("timed_gpu", timed_gpu)):
        _listed(option, cells, Mapping, f'{option}=[{{"rows": 1024, "cols": 1024}}]')
    document = (inspect.getdoc(reference) or "") if description is None else description
    return Problem(
        name=name or _name_of(reference),
        description=document.strip().partition("\n")[0] if description is None else document,
        origin="inline",
        axes=list(made_axes.values()),
        inputs=made,
        outputs=list(
            _output_names(reference, made, made_axes, judged, timed) if outputs is None else outputs
        ),
        dtypes=judged,
        timed=[dict(cell) for cell in timed],
        timed_gpu=[dict(cell) for cell in timed_gpu],
        reference=reference,
        oracle=oracle,
        baselines=list(baselines),
        nan_meaningful=nan_meaningful,
        inf_meaningful=inf_meaningful,
        library_kernels=library_kernels,
    )


def _listed(
    option: str, values: Iterable[Any], kind: type | tuple[type, ...], example: str
) -> list[Any]:
    """Returns the values of an option that is a list of such; raises where it is not."""
    if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
        raise InvalidArgumentError(f"{option}: a {type(values).__name__} is no list; {example}")
    listed = list(values)
    if strange := [one for one in listed if not isinstance(one, kind)]:
        raise InvalidArgumentError(f"{option}: there is a {type(strange[0]).__name__}; {example}")
    return listed


def _output_names(
    reference: Reference,
    inputs: Sequence[Input],
    axes: Mapping[str, Axis],
    dtypes: Sequence[str],
    timed: Sequence[Mapping[str, int]],
) -> list[str]:
    """Returns names for what a call returns; one name where that cannot be told."""
    taken = {one.name for one in inputs} | set(axes)
    # Where a reference does not take the least extents, it may take larger ones.
    for extents in ({}, dict.fromkeys(axes, 4), *timed):
        try:
            # Zeros are legal indices.
            tensors = [
                torch.zeros(
                    [_legal_extent(extent, axes, extents) for extent in one.shape],
                    dtype=getattr(torch, one.dtype or dtypes[0]),
                )
                for one in inputs
            ]
            with torch.no_grad():
                returned = reference(*tensors)
        except Exception:
            # What is wrong with the reference is for the referee to say, with a case.
            continue
        several = isinstance(returned, (tuple, list)) and len(returned) > 1
        names = [f"out{i}" for i in range(len(returned))] if several else ["out"]
        return [free_name(one, taken) for one in names]
    return [free_name("out", taken)]


def _legal_extent(extent: str | int, axes: Mapping[str, Axis], wanted: Mapping[str, int]) -> int:
    """Returns an extent of a shape where axes are as wanted, or the least that they allow."""
    if isinstance(extent, int):
        return extent
    factor, _, name = extent.rpartition("*")
    axis = axes[name]
    multiple = max(1, axis.multiple_of)
    least = -(-max(1, axis.minimum, wanted.get(name, 0)) // multiple) * multiple
    return int(factor or 1) * (least if axis.fixed is None else axis.fixed)


def _name_of(reference: Reference) -> str:
    name = getattr(reference, "__name__", type(reference).__name__)
    return "problem" if name == "<lambda>" else str(name)


def _named(reference: Reference, inputs: Inputs) -> dict[str, InputSpec]:
    """Returns the inputs by name, in the order of the function's arguments."""
    arguments = _arguments(reference)
    if isinstance(inputs, Mapping):
        specs = dict(inputs)
    else:
        examples = list(inputs)
        if strange := [one for one in examples if not isinstance(one, torch.Tensor)]:
            raise InvalidArgumentError(
                "inputs: a list holds example tensors; describe shapes in a dict by name "
                f"(there is a {type(strange[0]).__name__})"
            )
        names = list(arguments or ())[: len(examples)]
        names += [f"input{i}" for i in range(len(names), len(examples))]
        specs = dict(zip(names, examples, strict=True))
    if arguments is None:
        return specs
    order = [name for name in arguments if name in specs]
    if unknown := [name for name in specs if name not in arguments]:
        raise InvalidArgumentError(
            f"inputs: {_name_of(reference)}({', '.join(arguments)}) has no argument '{unknown[0]}'"
        )
    if missing := [name for name, needed in arguments.items() if needed and name not in specs]:
        raise InvalidArgumentError(
            f"inputs: the argument '{missing[0]}' of {_name_of(reference)} has no shape"
        )
    if order != list(arguments)[: len(order)]:
        skipped = next(name for name in arguments if name not in specs)
        raise InvalidArgumentError(
            f"inputs: '{skipped}' is left out although an input follows it; "
            "put arguments with defaults last"
        )
    return {name: specs[name] for name in order}


def _arguments(reference: Reference) -> dict[str, bool] | None:
    """Returns positional arguments and whether each is needed; None where that is unknown."""
    try:
        parameters = inspect.signature(reference).parameters.values()
    except (TypeError, ValueError):
        return None
    arguments: dict[str, bool] = {}
    for one in parameters:
        if one.kind is one.VAR_POSITIONAL:
            return None
        if one.kind is one.KEYWORD_ONLY and one.default is one.empty:
            raise InvalidArgumentError(
                f"a reference is called with tensors by position, and '{one.name}' of "
                f"{_name_of(reference)} is keyword-only"
            )
        if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD):
            arguments[one.name] = one.default is one.empty
    return arguments


def _input(name: str, spec: str | Sequence[str | int] | Input, weight: bool) -> Input:
    if isinstance(spec, Input):
        if spec.name != name:
            raise InvalidArgumentError(f"inputs: '{name}' is described by an Input '{spec.name}'")
        return Input(
            name,
            spec.shape,
            dtype=spec.dtype,
            values=spec.values,
            index_axis=spec.index_axis,
            parameter=weight or spec.parameter,
            padding=spec.padding,
        )
    if isinstance(spec, str):
        spec = spec.replace(",", " ").split()
    if not isinstance(spec, Sequence):
        raise InvalidArgumentError(
            f"inputs: '{name}' is a {type(spec).__name__}; write its shape as \"rows cols\" or "
            "as a list, or give an ouroboros.Input or an example tensor"
        )
    return Input(name, list(spec), parameter=weight)


def _axes_of(one: Input) -> list[str]:
    """Returns the axes that an input's shape and values refer to."""
    axes = []
    for extent in one.shape:
        if isinstance(extent, str):
            axes.append(extent.rpartition("*")[2])
    if one.index_axis:
        axes.append(one.index_axis)
    return axes
