"""What kernels were compiled from, as data: they can be made again without the candidate.

This side runs where the candidate's host code does, so whoever reads a record believes none of it.
docs/dry-trace.md has the format.
"""

from __future__ import annotations

import ast
import enum
import inspect
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any

import triton.language as tl
from triton._C.libtriton import get_cache_invalidating_env_vars
from triton.backends.nvidia.compiler import CUDAOptions
from triton.runtime.jit import JITCallable, JITFunction

__all__ = ["describe_arguments", "describe_kernel", "sources_file"]

Record = dict[str, Any]


def sources_file(launches: Sequence[Record]) -> bytes:
    """Returns the sources behind a plan's kernel launches, each kernel once."""
    kernels: dict[str, int] = {}
    order = []
    for launch in launches:
        text = json.dumps(launch, separators=(",", ":"))
        order.append(kernels.setdefault(text, len(kernels)))
    places = json.dumps(order, separators=(",", ":"))
    return f'{{"kernels":[{",".join(kernels)}],"launches":{places}}}'.encode()


def describe_kernel(source: Any, metadata: Any) -> Record:
    """Returns what a kernel was compiled from: its function, and what Triton was told of it."""
    usual = CUDAOptions()
    options = {
        name: getattr(metadata, name)
        for name in CUDAOptions.__dataclass_fields__
        if name not in _BY_TARGET
        and (name in _FILLED_IN or _plain(getattr(metadata, name)) != _plain(getattr(usual, name)))
    }
    return {
        "function": _function(source.fn, ()),
        "options": options,
        "attributes": [[list(path), value] for path, value in source.attrs.items()],
        "environment": sorted(get_cache_invalidating_env_vars()),
    }


# What `CUDABackend.parse_options` finds out by itself.
_BY_TARGET = {"arch", "ptx_version", "supported_fp8_dtypes", "deprecated_fp8_dot_operand_dtypes"}
_BY_TARGET |= {"max_num_imprecise_acc_default", "backend_name", "warp_size"}

# What it fills in where nothing is said, and not by the default of `CUDAOptions`.
_FILLED_IN = {"enable_fp_fusion"}


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _function(function: Any, inside: tuple[Any, ...]) -> Record:
    """Returns the text of a function of Triton's, and what the names in it stand for."""
    if any(function is one for one in inside):
        return _unknown(f"{function.__name__}, which calls itself")
    if type(function) is not JITFunction:
        name = getattr(function, "__name__", "?")
        return _unknown(f"{name}, which is a {type(function).__name__}")
    inside = (*inside, function)
    (tree,) = ast.parse(function.src).body
    scope = {**function.__globals__, **inspect.getclosurevars(function.fn).nonlocals}
    parameters = function.signature.parameters.values()
    defaults = {one.name: one.default for one in parameters if one.default is not one.empty}
    return {
        "name": function.__name__,
        "qualname": function.fn.__qualname__,
        "source": function.src,
        "globals": {
            name: _described_around(tree, name, scope[name], inside)
            for name in _free_names(tree)
            if name in scope
        },
        "defaults": {name: _describe(value, inside) for name, value in defaults.items()},
        "declared": [parameter.name for parameter in function.params if parameter.is_constexpr],
        "noinline": bool(function.noinline),
        # Assertions put these into the image.
        "file": function.fn.__code__.co_filename,
        "line": function.starting_line_number + _lines_before(function.raw_src),
    }


def describe_arguments(
    names: Iterable[str], signature: Iterable[Any], values: Iterable[Any], fields: Iterator[int]
) -> list[Record]:
    """Returns how each parameter of a kernel is found: among the plan's fields, or as a value.

    Args:
        names: Of the parameters.
        signature: The types that Triton chose.
        values: What the kernel was launched with.
        fields: How many fields of the block each tensor descriptor takes.
    """
    return [
        {"name": name, **_argument(kind, value, fields)}
        for name, kind, value in zip(names, signature, values, strict=True)
    ]


def _argument(kind: Any, value: Any, fields: Iterator[int]) -> Record:
    if isinstance(kind, tuple):
        return {"items": [_argument(*one, fields) for one in zip(kind, value, strict=True)]}
    if kind == "constexpr":
        return {"value": _describe(value, ())}
    if kind.startswith("tensordesc"):
        return {"kind": kind, "fields": next(fields)}
    return {"kind": kind}


def _lines_before(lines: Sequence[str]) -> int:
    """Returns how many lines of decorators a function has."""
    return next(at for at, line in enumerate(lines) if line.strip().startswith("def "))


def _free_names(tree: ast.AST) -> set[str]:
    """Names that a function takes from around it; annotations and defaults are not looked at."""
    assert isinstance(tree, ast.FunctionDef)
    names = [node for line in tree.body for node in ast.walk(line) if isinstance(node, ast.Name)]
    arguments = {node.arg for node in ast.walk(tree.args) if isinstance(node, ast.arg)}
    stored = {node.id for node in names if not isinstance(node.ctx, ast.Load)}
    return {node.id for node in names} - arguments - stored


def _described_around(tree: ast.AST, name: str, value: Any, inside: tuple[Any, ...]) -> Any:
    """Returns what a name stands for; of a module that is not Triton's with what is used of it."""
    described = _describe(value, inside)
    if isinstance(value, ModuleType) and not f"{value.__name__}.".startswith("triton."):
        used = {
            node.attr
            for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == name
        }
        members = {attr: getattr(value, attr, None) for attr in sorted(used)}
        described["members"] = {
            attr: _describe(member, inside)
            for attr, member in members.items()
            if isinstance(member, (JITCallable, tl.constexpr))
        }
    return described


def _describe(value: Any, inside: tuple[Any, ...]) -> Any:
    """Returns what JSON can hold of a value that a kernel's code refers to."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, enum.Enum) and isinstance(value, (int, float, str)):
        return _describe(value.value, inside)
    if isinstance(value, tl.constexpr):
        return {"constexpr": _describe(value.value, inside)}
    if type(value) is tl.dtype:
        return {"dtype": value.name}
    if isinstance(value, (tuple, list)):
        return {"items": [_describe(item, inside) for item in value]}
    if isinstance(value, ModuleType):
        return {"module": value.__name__}
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if isinstance(value, JITCallable):
        # Triton sets these to what they are of the function beneath.
        module, name = value.__module__, value.__name__
    of_triton = f"{module}.".startswith("triton.") and isinstance(name, str)
    if of_triton and getattr(sys.modules.get(str(module)), str(name), None) is value:
        return {"module": module, "name": name}
    if isinstance(value, JITCallable):
        return {"function": _function(value, inside)}
    return _unknown(f"a {type(value).__name__}")


def _unknown(what: str) -> Record:
    return {"unknown": what}
