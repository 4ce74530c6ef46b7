"""What a candidate's time is compared with, besides eager mode: `torch.compile`'s compiler.

The reference is traced to one graph that ends in copies into the referee's own output buffers, and
Inductor compiles that graph: the stores are fused, and baseline and candidate use the same memory.
There is no Dynamo around it, so the baseline pays for no guards: it is never slower than what
`torch.compile` gives a user, and for small shapes a good deal faster.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import torch

from ouroboros._ouroboros import Baseline, InvalidArgumentError, Problem
from ouroboros.language import DEVICE_LANGUAGES, Language
from ouroboros.trace.plan_baselines import plan_baseline

__all__ = ["compile_baseline", "with_baselines"]

Tensors = tuple[torch.Tensor, ...]
_Compiled = Callable[..., Any]

# One thread, like the candidate, and compiled in this process: a pool of workers would outlive us.
_INDUCTOR_OPTIONS = {"cpp.threads": 1, "compile_threads": 1}
_CACHE_ENTRIES = 128

# Inductor's settings belong to the whole process, so only one thread may change them at a time.
_lock = threading.Lock()
_cache: OrderedDict[tuple[object, ...], tuple[_Compiled, object]] = OrderedDict()


def with_baselines(
    problem: Problem, baselines: Sequence[str | Baseline] | None, language: Language = "cpp"
) -> Problem:
    """Returns the problem with the baselines that were asked for added to its own.

    Args:
        problem: The problem.
        baselines: "eager" (always there), "compile", for GPU candidates "max-autotune", or a
            `Baseline`; None for all of these that the language has. Of two with the same name the
            problem's own one wins.
        language: The candidate's.

    Raises:
        InvalidArgumentError: A name is unknown.
    """
    on_device = language in DEVICE_LANGUAGES
    names = ("eager", "compile", "max-autotune") if on_device else ("eager", "compile")
    result = list(problem.baselines)
    taken = {one.name for one in result}
    for wanted in names if baselines is None else baselines:
        if isinstance(wanted, str):
            if wanted not in names:
                raise InvalidArgumentError(
                    f"'{wanted}' is no baseline for candidates in {language}; use "
                    f"{', '.join(map(repr, names))} or an ouroboros.Baseline"
                )
            if wanted in taken or (wanted == "eager" and not on_device):
                continue
            wanted = plan_baseline(problem, wanted) if on_device else compile_baseline(problem)
        if wanted.name not in taken:
            taken.add(wanted.name)
            result.append(wanted)
    return problem.with_baselines(result)


def compile_baseline(problem: Problem) -> Baseline:
    """Returns the baseline "compile": the reference through Inductor, on one thread.

    Compiled code is kept in the process for each problem, shape and dtype, so that a second verdict
    finds it warm. A reference that cannot be traced makes the baseline unavailable, with the
    reason in the verdict.
    """
    reference = problem.reference
    # A shipped problem's reference is a new object each time; any other is itself the identity.
    builtin = problem.origin.startswith("builtin:")
    identity: object = problem.origin if builtin else id(reference)

    def prepare(inputs: Tensors, outputs: Tensors) -> Callable[[], None]:
        key = (identity, *((tuple(t.shape), t.dtype) for t in (*inputs, *outputs)))
        with _lock:
            found = _cache.get(key)
            if found is None:
                # The reference is kept too: its id must not be given to another object.
                found = (_compile(reference, inputs, outputs), reference)
                _cache[key] = found
                while len(_cache) > _CACHE_ENTRIES:
                    _cache.popitem(last=False)
            _cache.move_to_end(key)
        compiled = found[0]
        arguments = (*inputs, *outputs)

        def run() -> None:
            compiled(*arguments)

        return run

    return Baseline("compile", prepare)


def _compile(reference: Callable[..., Any], inputs: Tensors, outputs: Tensors) -> _Compiled:
    """Compiles `reference(*inputs)`, stored into `outputs`, and warms it up."""
    count = len(inputs)

    def stored(*tensors: torch.Tensor) -> tuple[()]:
        results = reference(*tensors[:count])
        if isinstance(results, torch.Tensor):
            results = (results,)
        for target, result in zip(tensors[count:], results, strict=True):
            if target.shape != result.shape:
                raise ValueError(f"an output is {tuple(result.shape)}, not {tuple(target.shape)}")
            target.copy_(result)
        return ()

    import torch._inductor.config

    with torch.no_grad(), torch._inductor.config.patch(_INDUCTOR_OPTIONS):
        # Imported with the settings in force: the import itself would start the worker pool.
        import torch._inductor
        from torch.fx.experimental.proxy_tensor import make_fx

        arguments = [*inputs, *outputs]
        # Fake tensors: the buffers hold no values yet, and one graph comes out or an error does.
        graph = make_fx(stored, tracing_mode="fake", _allow_non_fake_inputs=True)(*arguments)
        compiled: _Compiled = torch._inductor.compile(graph, list(arguments))
        # Zeros are legal values of every input, indices included.
        private = [torch.zeros_like(tensor) for tensor in arguments]
        for _ in range(2):
            compiled(*private)
    return compiled
