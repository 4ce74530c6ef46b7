"""KernelBench files: a module `Model` with `get_inputs` and `get_init_inputs`.

The model's weights become inputs: the referee draws fresh ones for every case, and a candidate gets
them after the inputs proper, in the order of `named_parameters`, then buffers. Shapes are those of
`get_inputs`, whatever the case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

import torch

from ouroboros._ouroboros import Axis, Input, InvalidArgumentError, Problem, UnsupportedError
from ouroboros.problems.naming import free_name
from ouroboros.problems.tensors import dtype_name, example_input

__all__ = ["from_module", "is_kernelbench"]

_SEED = 42
_NAMES = ("Model", "get_inputs", "get_init_inputs")


def is_kernelbench(module: ModuleType) -> bool:
    """Whether a module has the three definitions of a KernelBench file."""
    return all(callable(getattr(module, name, None)) for name in _NAMES)


def from_module(module: ModuleType, *, name: str) -> Problem:
    """Returns the problem that a KernelBench module defines.

    Args:
        module: A module for which `is_kernelbench` holds.
        name: Name of the problem.

    Raises:
        InvalidArgumentError: The model cannot be built or run.
        UnsupportedError: An input or output is no tensor of a supported dtype.
    """
    model, examples, results = _run_once(module, name)
    tensors = [(i, one) for i, one in enumerate(examples) if isinstance(one, torch.Tensor)]
    for i, one in enumerate(examples):
        if not isinstance(one, (torch.Tensor, bool, int, float, str, type(None))):
            raise UnsupportedError(
                f"'{name}': get_inputs()[{i}] is a {type(one).__name__}; only tensors and plain "
                "numbers can be inputs"
            )
    if not tensors:
        raise UnsupportedError(f"'{name}': get_inputs() returns no tensor")
    floating = [one for _, one in tensors if one.is_floating_point()]
    for one in results:
        dtype_name(one.dtype, f"'{name}': an output")
    floating += [one for one in model.parameters() if one.is_floating_point()]
    if not floating:
        raise UnsupportedError(f"'{name}': neither inputs nor weights are floating-point numbers")
    case_tensor = floating[0]
    state = {**dict(model.named_parameters()), **_live_buffers(model, examples, results)}

    taken: set[str] = set()
    inputs: list[Input] = []
    axes: list[Axis] = []
    arguments = _argument_names(model, len(examples))
    for i, one in tensors:
        made, axis = example_input(free_name(arguments[i], taken), one, case_tensor.dtype)
        if made.values == "real" and _has_to_be_positive(model, examples, results, i):
            made = Input(made.name, list(one.shape), dtype=made.dtype, values="positive")
        inputs.append(made)
        axes += [axis] if axis is not None else []
    for key, weight in state.items():
        inputs.append(_weight(free_name(key, taken), weight, case_tensor.dtype))

    outputs = ["out"] if len(results) == 1 else [f"out{i}" for i in range(len(results))]
    return Problem(
        name=name,
        description=((module.__doc__ or model.__doc__ or "").strip().partition("\n")[0]),
        origin="inline",
        axes=axes,
        inputs=inputs,
        outputs=[free_name(one, taken) for one in outputs],
        dtypes=[dtype_name(case_tensor.dtype, f"'{name}': the first input")],
        timed=[{axis.name: axis.fixed for axis in axes if axis.fixed is not None}],
        reference=_reference(model, examples, [i for i, _ in tensors], list(state)),
    )


def _run_once(
    module: ModuleType, name: str
) -> tuple[torch.nn.Module, list[Any], tuple[torch.Tensor, ...]]:
    """Builds the model and the inputs as KernelBench does, and runs it once."""
    step = "get_init_inputs()"
    try:
        torch.manual_seed(_SEED)
        init_inputs = module.get_init_inputs()
        step = "Model(...)"
        torch.manual_seed(_SEED)
        model = module.Model(*init_inputs)
        step = "get_inputs()"
        torch.manual_seed(_SEED)
        examples = module.get_inputs()
        if not isinstance(examples, (list, tuple)):
            raise TypeError(f"a {type(examples).__name__} is no list of forward's arguments")
        examples = list(examples)
        step = "Model.forward"
        with torch.no_grad():
            results = model(*examples)
    except Exception as error:
        raise InvalidArgumentError(
            f"'{name}': {step} raised {type(error).__name__}: {error}"
        ) from error
    if isinstance(results, torch.Tensor):
        return model, examples, (results,)
    if isinstance(results, (tuple, list)) and all(isinstance(r, torch.Tensor) for r in results):
        return model, examples, tuple(results)
    what = type(results).__name__
    if isinstance(results, (tuple, list)):
        what += f" of {', '.join(type(one).__name__ for one in results)}"
    raise UnsupportedError(
        f"'{name}': Model.forward returns a {what}; only tensors and tuples of tensors can be "
        "judged: return those that count"
    )


def _live_buffers(
    model: torch.nn.Module, examples: list[Any], results: Iterable[torch.Tensor]
) -> dict[str, torch.Tensor]:
    """Returns the floating buffers that the outputs depend on; the others stay constants.

    Running statistics that a model in training mode only writes would be inputs that change
    nothing, and a problem with such an input cannot be judged.
    """
    live: dict[str, torch.Tensor] = {}
    buffers = dict(model.named_buffers())
    for key, buffer in buffers.items():
        if not buffer.is_floating_point():
            continue
        state = {other: value.clone() for other, value in buffers.items()}
        state[key] = state[key] * 1.5 + 0.25
        with torch.no_grad():
            moved = torch.func.functional_call(model, state, tuple(examples))
        moved = (moved,) if isinstance(moved, torch.Tensor) else moved
        if any(not torch.equal(a, b) for a, b in zip(results, moved, strict=True)):
            live[key] = buffer
    return live


def _has_to_be_positive(
    model: torch.nn.Module, examples: list[Any], results: Iterable[torch.Tensor], position: int
) -> bool:
    """Returns whether an input is positive everywhere, and makes NaN where it is not: as of logs.

    That its example is positive says nothing alone: KernelBench draws most inputs from 0 to 1.
    """
    example = examples[position]
    if not example.is_floating_point() or not bool((example > 0).all()):
        return False
    opposite = list(examples)
    opposite[position] = -example
    state = {key: value.clone() for key, value in model.named_buffers()}
    try:
        with torch.no_grad():
            made = torch.func.functional_call(model, state, tuple(opposite))
        made = (made,) if isinstance(made, torch.Tensor) else made
        pairs = list(zip(results, made, strict=True))
        return any(bool((after.isnan() & ~before.isnan()).any()) for before, after in pairs)
    except Exception:  # Whatever a model does with what it is not made for.
        return False


def _weight(name: str, weight: torch.Tensor, case_dtype: torch.dtype) -> Input:
    dtype = dtype_name(weight.dtype, f"the weight '{name}'")
    # Variances must stay positive: a buffer whose every value is positive is taken for one.
    is_buffer = not isinstance(weight, torch.nn.Parameter)
    positive = is_buffer and bool((weight > 0).all())
    return Input(
        name,
        list(weight.shape),
        dtype=None if weight.dtype == case_dtype else dtype,
        values="positive" if positive else "real",
        parameter=True,
    )


def _reference(
    model: torch.nn.Module, examples: list[Any], positions: list[int], keys: list[str]
) -> Callable[..., Any]:
    """Returns a function of the tensors among the inputs, then the weights."""
    constants = [None if isinstance(one, torch.Tensor) else one for one in examples]
    rest = {key: one for key, one in model.named_buffers() if key not in keys}

    def reference(*tensors: torch.Tensor) -> Any:
        arguments = list(constants)
        for position, tensor in zip(positions, tensors, strict=False):
            arguments[position] = tensor
        state = dict(zip(keys, tensors[len(positions) :], strict=True))
        # The oracle's tensors are in float64: constants have to follow, and are not to be changed.
        dtype = next(one.dtype for one in tensors if one.is_floating_point())
        for key, buffer in rest.items():
            state[key] = buffer.to(dtype) if buffer.is_floating_point() else buffer
            if state[key] is buffer:
                state[key] = buffer.clone()
        return torch.func.functional_call(model, state, tuple(arguments))

    return reference


def _argument_names(model: torch.nn.Module, count: int) -> list[str]:
    code = getattr(model.forward, "__code__", None)
    names = list(code.co_varnames[1 : code.co_argcount]) if code is not None else []
    return (names + [f"input{i}" for i in range(len(names), count)])[:count]
