"""Problems by name and from files."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import sys
import traceback
from pathlib import Path
from types import ModuleType

from ouroboros._ouroboros import (
    InvalidArgumentError,
    IOFailure,
    NotFoundError,
    Problem,
    UnsupportedError,
    get_problem,
)
from ouroboros.problems import flashinfer, kernelbench

__all__ = ["from_file", "load", "with_origin"]

_FILE = re.compile(r"(?P<path>.+\.(?:py|json))(?::(?P<name>[A-Za-z_]\w*))?", re.DOTALL)


def load(spec: Problem | str | os.PathLike[str]) -> Problem:
    """Returns the problem that `spec` names.

    Args:
        spec: A problem; the name of one that ships with the library; a path of a `.py` or `.json`
            file, with ``:NAME`` after it where a file defines several; or a problem's `origin`.

    Raises:
        NotFoundError: There is no such problem or file.
        InvalidArgumentError: The file defines no problem, or several and none was named.
        UnsupportedError: The file asks for what the referee cannot judge.
    """
    if isinstance(spec, Problem):
        return spec
    if isinstance(spec, os.PathLike):
        return from_file(spec)
    if not isinstance(spec, str):
        raise InvalidArgumentError(
            f"a problem is named by a str or a path, not by {type(spec).__name__}"
        )
    if spec.startswith("builtin:"):
        return get_problem(spec.removeprefix("builtin:"))
    text = spec.removeprefix("file:")
    if match := _FILE.fullmatch(text):
        return from_file(match["path"], match["name"])
    if "\n" in text:
        raise InvalidArgumentError(
            "the problem is a text of several lines: it comes before the source"
        )
    if text != spec or os.sep in text:
        raise InvalidArgumentError(f"'{text}' is neither a .py nor a .json file")
    try:
        return get_problem(text)
    except NotFoundError as error:
        raise NotFoundError(f"{error}; files end in .py or .json") from None


def from_file(path: str | os.PathLike[str], name: str | None = None) -> Problem:
    """Returns the problem that a file defines.

    A Python file is run: it is trusted as the caller's own code is.

    Args:
        path: A Python file with one decorated problem, a variable ``PROBLEM``, or the three
            definitions of KernelBench; or the JSON of a flashinfer-trace Definition.
        name: Which of the problems of a Python file.

    Raises:
        As `load`.
    """
    file = Path(path)
    if not file.is_file():
        raise NotFoundError(f"there is no file '{file}'")
    if file.suffix == ".json":
        if name is not None:
            raise InvalidArgumentError(f"'{file}' holds one Definition; leave out ':{name}'")
        found = flashinfer.from_file(file)
    elif file.suffix == ".py":
        found = _from_module(_run(file), file, name)
    else:
        raise InvalidArgumentError(f"'{file}' is neither a .py nor a .json file")
    origin = f"file:{file.resolve()}" + (f":{name}" if name else "")
    return found if found.origin.startswith("builtin:") else with_origin(found, origin)


def with_origin(problem: Problem, origin: str) -> Problem:
    """Returns the same problem with another origin."""
    return Problem(
        name=problem.name,
        description=problem.description,
        origin=origin,
        axes=problem.axes,
        inputs=problem.inputs,
        outputs=problem.outputs,
        dtypes=problem.dtypes,
        timed=problem.timed,
        timed_gpu=problem.timed_gpu,
        reference=problem.reference,
        oracle=problem.oracle,
        baselines=problem.baselines,
        nan_meaningful=problem.nan_meaningful,
        inf_meaningful=problem.inf_meaningful,
        library_kernels=problem.library_kernels,
    )


def _run(file: Path) -> ModuleType:
    """Runs a Python file as a module of its own."""
    digest = hashlib.sha256(str(file.resolve()).encode()).hexdigest()[:16]
    module_name = f"_ouroboros_problem_{digest}"
    spec = importlib.util.spec_from_file_location(module_name, file)
    if spec is None or spec.loader is None:
        raise IOFailure(f"'{file}' cannot be read as a module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # Where dataclasses and inspect look for a module.
    try:
        spec.loader.exec_module(module)
    except (InvalidArgumentError, UnsupportedError, NotFoundError) as error:
        sys.modules.pop(module_name, None)
        raise type(error)(f"'{file}': {error}") from error
    except Exception as error:
        sys.modules.pop(module_name, None)
        lines = [
            frame.lineno
            for frame in traceback.extract_tb(error.__traceback__)
            if frame.filename == str(file)
        ]
        where = f" in line {lines[-1]}" if lines else ""
        raise InvalidArgumentError(
            f"'{file}' raised {type(error).__name__}{where}: {error}"
        ) from error
    return module


def _from_module(module: ModuleType, file: Path, name: str | None) -> Problem:
    found = {key: value for key, value in vars(module).items() if isinstance(value, Problem)}
    if name is not None:
        if name not in found:
            raise NotFoundError(
                f"'{file}' defines no problem '{name}'; there are: {', '.join(found) or 'none'}"
            )
        return found[name]
    if "PROBLEM" in found:
        return found["PROBLEM"]
    if len({id(one) for one in found.values()}) == 1:
        return next(iter(found.values()))
    if found:
        raise InvalidArgumentError(
            f"'{file}' defines several problems ({', '.join(found)}); say which: "
            f"'{file}:{next(iter(found))}'"
        )
    if kernelbench.is_kernelbench(module):
        return kernelbench.from_module(module, name=file.stem)
    raise InvalidArgumentError(
        f"'{file}' defines no problem: decorate a function with ouroboros.problem, or define "
        "Model, get_inputs and get_init_inputs as KernelBench does"
    )
