"""A process that traces baselines: ``python -m ouroboros.trace.baseline_worker``.

It runs trusted code alone: references, PyTorch and its compiler. It lives long, since a CUDA
context and a warm compiler are what costs. Its client is `ouroboros.trace.baseline_client`.

A request is a line of JSON on standard input, the answer a line on standard output with the plan's
bytes, if there is one, right behind it:

    {"problem": {"origin": "builtin:softmax"}, "inputs": [{"name", "dtype", "shape"}, ...],
     "outputs": ["out"], "kind": "compile", "seed": 0}
    {"plan_bytes": 12345, "seconds": 1.5, "torch": "...", "triton": "...", "driver": 13000,
     "gpu": "..."}
    {"unavailable": "One sentence."}

A problem is named by its origin, or is ``{"pickle": base64}`` of the reference. The request
``{"kind": "describe"}`` gives the versions and the GPU alone.
"""

from __future__ import annotations

import base64
import importlib
import json
import os
import pickle
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, BinaryIO

import torch

from ouroboros.trace.live import TraceRefusedError, UnavailableError, capture
from ouroboros.trace.live_session import Session, TensorSpec, session, strides_of

__all__ = [
    "KINDS",
    "answer",
    "baseline_function",
    "environment",
    "load_reference",
    "main",
    "reference_graph",
    "serve",
]

KINDS = ("eager", "compile", "max-autotune")

Function = Callable[..., Any]
Tracer = Callable[[Mapping[str, Any]], bytes]


def baseline_function(reference: Function, inputs: Sequence[TensorSpec], kind: str) -> Function:
    """Returns the function that a baseline times.

    "eager" is the reference itself. The others are the reference as one graph through Inductor,
    without Dynamo and its guards: what `torch.compile` would run, never slower. "max-autotune" is
    its mode "max-autotune-no-cudagraphs".
    """
    if kind == "eager":
        return reference
    if kind not in KINDS:
        raise UnavailableError(f"'{kind}' is no baseline; use one of {', '.join(KINDS)}.")
    import torch._inductor

    options: dict[str, Any] = {}
    if kind == "max-autotune":
        options = torch._inductor.list_mode_options("max-autotune-no-cudagraphs")
    examples: list[Any] = [
        torch.empty_strided(
            tuple(one["shape"]), strides_of(one), dtype=getattr(torch, one["dtype"]), device="cuda"
        )
        for one in inputs
    ]
    graph = reference_graph(reference, examples)
    compiled: Function = torch._inductor.compile(graph, examples, options=options)
    return compiled


def reference_graph(
    reference: Function, examples: Sequence[torch.Tensor]
) -> torch.fx.graph_module.GraphModule:
    """Returns a reference as one graph that gives a tuple. The reference may be C++."""
    from torch.fx.experimental.proxy_tensor import make_fx

    def listed(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        results = reference(*tensors)
        return (results,) if isinstance(results, torch.Tensor) else tuple(results)

    # Fake tensors: one graph comes out, or an error does.
    return make_fx(listed, tracing_mode="fake", _allow_non_fake_inputs=True)(*examples)


def environment() -> dict[str, Any]:
    """Returns what a plan depends on besides the problem."""
    try:
        triton = str(importlib.import_module("triton").__version__)
    except ImportError:
        triton = ""
    tracer = session()
    return {
        "torch": str(torch.__version__),
        "triton": triton,
        "driver": tracer.driver_version,
        "gpu": tracer.gpu,
    }


def load_reference(problem: Mapping[str, Any]) -> Function:
    """Returns the reference of the problem that a request names."""
    if "pickle" in problem:
        found: Function = pickle.loads(base64.b64decode(problem["pickle"]))
        return found
    from ouroboros.problems import load

    reference: Function = load(problem["origin"]).reference
    return reference


def trace(request: Mapping[str, Any]) -> bytes:
    """Returns the plan that a request asks for."""
    tracer = session()
    try:
        return _traced(tracer, request)
    finally:
        tracer.trim()


def _traced(tracer: Session, request: Mapping[str, Any]) -> bytes:
    # A function of its own: what the baseline keeps on the device ends with it, before the trim.
    with tracer.working():
        fn = baseline_function(
            load_reference(request["problem"]), request["inputs"], request["kind"]
        )
    return capture(fn, request["inputs"], request["outputs"], seed=int(request.get("seed", 0)))


def answer(
    request: Mapping[str, Any],
    tracer: Tracer = trace,
    described: Callable[[], dict[str, Any]] = environment,
) -> tuple[dict[str, Any], bytes]:
    """Returns the answer's line and the plan's bytes. Never raises: a failure is an answer."""
    began = time.perf_counter()
    try:
        plan = b"" if request["kind"] == "describe" else tracer(request)
        line = {"plan_bytes": len(plan), "seconds": time.perf_counter() - began, **described()}
        return line, plan
    except (TraceRefusedError, UnavailableError) as error:
        return {"unavailable": str(error)}, b""
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        return {"unavailable": f"{type(error).__name__}: {first}"}, b""


def serve(
    requests: BinaryIO,
    answers: BinaryIO,
    answering: Callable[[Mapping[str, Any]], tuple[dict[str, Any], bytes]] = answer,
) -> None:
    """Answers requests until there are no more."""
    for line in requests:
        document, plan = answering(json.loads(line))
        answers.write(json.dumps(document).encode() + b"\n" + plan)
        answers.flush()


def main() -> None:
    """Serves standard input and output."""
    # Compilers print. What they print goes to standard error, and the answers alone to the pipe.
    with os.fdopen(os.dup(1), "wb") as answers:
        os.dup2(2, 1)
        serve(sys.stdin.buffer, answers)


if __name__ == "__main__":
    main()
