"""Live trace: what a function launches on this machine's GPU, as a launch plan.

Any function that a CUDA graph can capture will do: Triton, PyTorch, compiled code, libraries.
docs/live-trace.md says how it works and what it refuses.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from ouroboros.trace.live_plan import OriginRule, Recipe, TraceRefusedError, make_plan
from ouroboros.trace.live_session import Session, TensorSpec, UnavailableError, session

__all__ = [
    "TensorSpec",
    "TraceRefusedError",
    "UnavailableError",
    "capture",
    "capture_source",
    "file_origin",
    "load_entry",
    "never_fall_back",
    "prepare",
    "refused",
    "write_source",
]

_MESSAGE_LIMIT = 2000
_LOG_LIMIT = 1 << 16
_RECOMPILE_LIMIT = 256
# Python's, and Triton's, which may not be installed.
_COMPILE_ERRORS = {"SyntaxError", "CompilationError", "OutOfResources", "PTXASError"}


def capture(
    fn: Callable[..., Any],
    inputs: Sequence[TensorSpec],
    outputs: Sequence[str],
    *,
    language: str = "python",
    origin: OriginRule = lambda file, function: "library",
    warm_ups: int = 2,
    seed: int = 0,
    values: Callable[[Sequence[torch.Tensor]], None] | None = None,
) -> bytes:
    """Returns the launch plan of ``fn(*inputs)``.

    The function is called ``warm_ups`` times on values, so that it compiles, tunes and loads what
    it will, and then twice for captures, which launch nothing.

    Args:
        fn: Takes tensors and returns a tensor or several.
        inputs: What they look like.
        outputs: Names of what is returned.
        language: "python" or "triton".
        origin: Who wrote a module; by default all are a library's.
        warm_ups: At least one: what a first call allocates and keeps becomes state.
        seed: Of the values of the warm-ups.
        values: Fills the inputs of a warm-up; by default floating point is normal and integers
            are zero.

    Raises:
        TraceRefusedError: What the function does cannot be a plan.
        UnavailableError: There can be no live trace in this process.
    """
    tracer = session()
    warm_up(tracer, fn, inputs, max(warm_ups, 1), seed, values)
    first = tracer.capture(fn, inputs, outputs, again=False)
    second = tracer.capture(fn, inputs, outputs, again=True)
    return make_plan(
        first,
        second,
        Recipe(
            language=language,
            target=tracer.target,
            image=tracer.image,
            contents=tracer.contents,
            origin=origin,
        ),
    )


def warm_up(
    tracer: Session,
    fn: Callable[..., Any],
    inputs: Sequence[TensorSpec],
    calls: int,
    seed: int,
    values: Callable[[Sequence[torch.Tensor]], None] | None = None,
) -> None:
    """Calls the function on values, outside any capture."""
    with tracer.working():
        torch.manual_seed(seed)
        tensors = tracer.tensors(inputs)
        for one in tensors:
            if one.is_floating_point():
                one.normal_()
            else:
                one.zero_()
        if values is not None:
            values(tensors)
        try:
            for _ in range(calls):
                fn(*tensors)
            torch.cuda.synchronize()
        except TraceRefusedError:
            raise
        except Exception as error:
            first = str(error).partition("\n")[0]
            raise TraceRefusedError(
                "failed", f"It failed with {type(error).__name__}: {first}"
            ) from error


def file_origin(*folders: str | Path) -> OriginRule:
    """Returns the rule for candidates: theirs is what they compiled, a library's what was there.

    A module from memory (Triton, NVRTC, CuPy) or from a file below one of ``folders`` is the
    candidate's. One from any other file is a library's: cuBLAS, cuDNN, PyTorch's own kernels. Where
    the file is unknown, since the driver loaded the module when its kernel was first launched, a
    kernel is the candidate's if a shared object below one of ``folders`` names it.
    """
    own = [Path(folder).resolve() for folder in folders]

    def origin(file: str | None, function: str) -> str:
        if file is None:
            objects = (one for folder in own for one in folder.rglob("*.so"))
            built = any(function.encode() in one.read_bytes() for one in objects)
        else:
            path = Path(file).resolve()
            built = not file or any(path.is_relative_to(folder) for folder in own)
        return "candidate" if built else "library"

    return origin


def prepare() -> None:
    """Gets this process ready to trace, before a candidate's code is in it.

    Raises:
        UnavailableError: There can be no live trace here, which is not the candidate's fault.
    """
    session()


def capture_source(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Traces a candidate's source for each signature. Hostile code runs: only in a sandbox.

    Args:
        request: ``{"source", "name", "language", "entry", "signatures", "scratch", "builds"}``: as
            for the dry trace, but ``"builds"`` is a folder that outlives this process, or nothing,
            and a signature is ``{"inputs": [{"name", "dtype", "shape", "strides"}],
            "outputs": [names]}``.

    Returns:
        For each signature ``{"variants": [bytes], "refusal": None or {"kind", "op", "message",
        "traceback"}, "log": text, "seconds": float}``.
    """
    file = write_source(request)
    folders = [file.parent, *filter(None, [request.get("builds")])]
    language = "triton" if request.get("language") == "triton" else "python"
    log = io.StringIO()
    launch_without_graphs()
    entry: Callable[..., Any] | None = None
    failure: dict[str, str] | None = None
    with contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
        try:
            entry = load_entry(file, str(request.get("entry") or "run"))
        except Exception as error:
            failure = refused(error, file)
    answers = []
    for signature in request["signatures"]:
        began = time.perf_counter()
        variants: list[bytes] = []
        refusal = failure
        if entry is not None:
            with contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
                try:
                    never_fall_back()
                    variants.append(
                        capture(
                            entry,
                            signature["inputs"],
                            signature["outputs"],
                            language=language,
                            origin=file_origin(*folders),
                        )
                    )
                    session().trim()
                except Exception as error:
                    variants.clear()
                    refusal = refused(error, file)
        answers.append(
            {
                "variants": variants,
                "refusal": refusal,
                "log": log.getvalue()[:_LOG_LIMIT],
                "seconds": time.perf_counter() - began,
            }
        )
        log.seek(0)
        log.truncate()
    return answers


def write_source(request: Mapping[str, Any]) -> Path:
    """Writes a request's source to a file in its scratch folder, whatever it is called."""
    scratch = request.get("scratch") or tempfile.mkdtemp(prefix="ouroboros-live-")
    stem = "".join(letter if letter.isalnum() else "_" for letter in str(request["name"]))
    file = Path(scratch, f"{stem or 'candidate'}.py")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(request["source"])
    return file


def load_entry(file: Path, entry: str) -> Callable[..., Any]:
    """Runs a candidate's file and returns its function."""
    module = ModuleType("candidate")
    module.__file__ = str(file)
    sys.modules["candidate"] = module
    linecache.checkcache(str(file))
    exec(compile(file.read_text(), str(file), "exec"), module.__dict__)
    found = getattr(module, entry, None)
    if not callable(found):
        raise TraceRefusedError(
            "missing_entry_point",
            f"the source defines no function {entry!r}, which is given the inputs and returns the "
            f"outputs. One for a module: def {entry}(x): return model(x)",
        )
    run: Callable[..., Any] = found
    return run


def launch_without_graphs() -> None:
    """Has `torch.compile` launch kernels itself in every mode, for this process.

    Its modes "reduce-overhead" and "max-autotune" replay CUDA graphs of their own, which need
    PyTorch's allocator. What they launch is the same.
    """
    compiled = torch._TorchCompileInductorWrapper
    apply = compiled.apply_options

    def apply_options(self: Any, options: dict[str, Any] | None) -> None:
        apply(self, options)
        self.config.pop("triton.cudagraphs", None)

    compiled.apply_options = apply_options  # type: ignore[method-assign]


def never_fall_back() -> None:
    """Lets `torch.compile` compile for every shape: past its limit it would run eager mode."""
    dynamo = sys.modules.get("torch._dynamo")
    if dynamo is not None and hasattr(dynamo.config, "recompile_limit"):
        dynamo.config.recompile_limit = _RECOMPILE_LIMIT


def refused(error: Exception, file: Path) -> dict[str, str]:
    """Returns what a candidate's error is called, with the lines of its file."""
    cause = error.__cause__ if isinstance(error, TraceRefusedError) else error
    frames = traceback.extract_tb((cause or error).__traceback__)
    lines = [
        f"line {frame.lineno}, in {frame.name}: {frame.line}"
        for frame in frames
        if frame.filename == str(file)
    ]
    bases = {base.__name__ for base in type(cause or error).__mro__}
    if bases & _COMPILE_ERRORS:
        kind, op, message = "compile_error", "", f"{type(cause).__name__}: {cause}"
    elif isinstance(error, TraceRefusedError):
        kind, op, message = error.kind, error.op, error.message
    elif isinstance(error, UnavailableError):
        kind, op, message = "unavailable", "", str(error)
    else:
        kind, op, message = "failed", "", f"{type(error).__name__}: {error}"
    return {
        "kind": kind,
        "op": op,
        "message": message[:_MESSAGE_LIMIT],
        "traceback": "\n".join(lines),
    }
