"""As-called time: what a call costs its caller in Python, measured beside the candidate's code.

Candidate and reference run in one process, in randomised blocks, and this module reads the clock.
So whatever comes out is a claim of that process. docs/timing.md says what the figure is worth.
"""

from __future__ import annotations

import gc
import json
import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from random import Random
from typing import Any

import torch

from ouroboros.trace.baseline_worker import load_reference, reference_graph
from ouroboros.trace.live import (
    TraceRefusedError,
    UnavailableError,
    load_entry,
    never_fall_back,
    refused,
    write_source,
)
from ouroboros.trace.live_session import TensorSpec, strides_of

__all__ = [
    "ARMS",
    "calls_for",
    "disagreement",
    "drawn",
    "measured",
    "orders",
    "prepare",
    "run",
]

ARMS = ("candidate", "eager", "compile")
"""What the outputs are, in order. One that was not measured has no samples."""

SLOT_NS = 2_000_000
CELL_NS = 500_000_000
LEAST_BLOCKS, MOST_BLOCKS = 4, 256
_MOST_CALLS = 100_000
_WARM_UPS = 3

# Correctness was judged before, on other inputs: this only finds calls that are not of one thing.
_GENEROUS = {torch.float16: 0.05, torch.bfloat16: 0.05}
_TOLERANCE = 0.01

_clock = time.perf_counter_ns  # Before a candidate can put another in its place.

Call = Callable[[], object]
Wait = Callable[[], object]
Clock = Callable[[], int]
Block = tuple[float, float]
"""Microseconds a call in the two slots that an arm has in a block."""


def prepare() -> None:
    """Gets this process ready, before a candidate's code is in it.

    Raises:
        UnavailableError: There is no GPU here.
    """
    if not torch.cuda.is_available():
        raise UnavailableError("PyTorch finds no CUDA device on this machine.")
    torch.cuda.synchronize()


def run(
    request: Mapping[str, Any],
    device: str = "cuda",
    wait: Wait = torch.cuda.synchronize,
) -> list[dict[str, Any]]:
    """Measures a candidate for each signature. Hostile code runs: only in a sandbox.

    Args:
        request: As for a trace, and under "inputs" for each signature one blob, a JSON document
            ``{"problem", "baselines": ["compile"], "seed", "inputs": [{"values", "bound"}]}``. The
            problem is what `ouroboros.trace.baseline_client.problem_document` returns.
        device: Where tensors are.
        wait: Returns when the device has done its work.

    Returns:
        For each signature ``{"outputs", "notes", "refusal", "log", "seconds"}``. An output is a
        float64 tensor ``(blocks, 2)`` of microseconds a call, one for each of `ARMS`.
    """
    file = write_source(request)
    documents = [json.loads(bytes(values[0])) for values in request["inputs"]]
    failure: dict[str, str] | None = None
    entry = reference = _nothing
    try:
        reference = _loaded(documents[0]["problem"])
        entry = load_entry(file, str(request.get("entry") or "run"))
    except Exception as error:
        failure = refused(error, file)
    answers = []
    for signature, document in zip(request["signatures"], documents, strict=True):
        began = _clock()
        refusal, notes = failure, list[str]()
        samples: dict[str, list[Block]] = {}
        if refusal is None:
            try:
                with torch.no_grad():
                    inputs = drawn(signature["inputs"], document, device)
                    arms = _arms(entry, reference, inputs, document["baselines"], wait, notes)
                    coin = Random(int(document["seed"]))
                    times = measured(list(arms.values()), wait, orders(len(arms), coin))
                samples = dict(zip(arms, times, strict=True))
            except Exception as error:
                refusal = refused(error, file)
            inputs, arms = [], {}
            _trim(device)
        answers.append(
            {
                "variants": [],
                "outputs": [_output(samples.get(arm, [])) for arm in ARMS],
                "notes": notes,
                "refusal": refusal,
                "log": "",
                "seconds": (_clock() - began) / 1e9,
            }
        )
    return answers


def drawn(
    specs: Sequence[TensorSpec], document: Mapping[str, Any], device: str
) -> list[torch.Tensor]:
    """Returns inputs of a signature: normal, within [-1, 1] for angles, valid for indices.

    Masks are zeros and ones, with a one in each row; offsets begin with 0 and end with all there
    is.
    """
    torch.manual_seed(int(document["seed"]))
    tensors = []
    for spec, how in zip(specs, document["inputs"], strict=True):
        shape, dtype = tuple(spec["shape"]), getattr(torch, spec["dtype"])
        if how["values"] == "mask":
            values = torch.randint(0, 2, shape, device=device)
            if shape:
                values[..., :1] = 1
        elif not dtype.is_floating_point:
            # As for baselines: what is no index is zero.
            values = torch.randint(0, max(how["bound"] or 1, 1), shape, dtype=dtype, device=device)
            if how["values"] == "offsets":
                values = values.sort(-1).values
                values[..., -1:] = how["bound"] - 1
                values[..., :1] = 0
            elif how["values"] == "permutation":
                values = torch.rand(shape, device=device).argsort(-1)
        elif how["values"] == "angle":
            values = torch.rand(shape, dtype=torch.float32, device=device) * 2 - 1
        else:
            values = torch.randn(shape, dtype=torch.float32, device=device)
            if how["values"] == "positive":
                values = values.abs() + 0.1
        made = torch.empty_strided(shape, strides_of(spec), dtype=dtype, device=device)
        tensors.append(made.copy_(values))
    return tensors


def disagreement(returned: Any, expected: Any) -> str:
    """Returns how two results differ by more than any rounding explains; empty if they do not."""
    ours, theirs = _tensors(returned), _tensors(expected)
    if len(ours) != len(theirs):
        return f"it returned {len(ours)} tensors where the reference returns {len(theirs)}"
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        if one.shape != other.shape or one.device != other.device:
            return (
                f"its output number {number} is {tuple(one.shape)} on {one.device}, the "
                f"reference's {tuple(other.shape)} on {other.device}"
            )
        tolerance = _GENEROUS.get(other.dtype, _TOLERANCE)
        wide = torch.float64 if other.element_size() == 8 else torch.float32
        a, b = one.to(wide), other.to(wide)
        size = b.abs().nan_to_num(0, 0, 0)
        largest = float(size.max()) if size.numel() else 0.0
        if not torch.allclose(a, b, rtol=tolerance, atol=tolerance * largest, equal_nan=True):
            return f"its output number {number} is far from the reference's on the same inputs"
    return ""


def orders(arms: int, coin: Random) -> Iterator[list[int]]:
    """Yields the orders of blocks: a random permutation, then its mirror image."""
    while True:
        half = coin.sample(range(arms), arms)
        yield half + half[::-1]


def calls_for(call: Call, wait: Wait, clock: Clock = _clock) -> tuple[int, int]:
    """Returns how many calls a slot of about `SLOT_NS` has, and how long the last trial took."""
    count = 1
    for _ in range(3):
        taken = max(_slot(call, count, wait, clock), 1)
        best = min(max(count * SLOT_NS // taken, 1), _MOST_CALLS)
        if best == count:
            break
        count = best
    return count, taken


def measured(
    arms: Sequence[Call], wait: Wait, order: Iterator[Sequence[int]], clock: Clock = _clock
) -> list[list[Block]]:
    """Returns the blocks of each arm, as many as fit into `CELL_NS`.

    Raises:
        TraceRefusedError: Fewer than `LEAST_BLOCKS` fit.
    """
    slots = [calls_for(arm, wait, clock) for arm in arms]
    longest = 2 * sum(taken for _, taken in slots)
    if LEAST_BLOCKS * longest > CELL_NS:
        raise _too_slow(longest)
    blocks: list[list[Block]] = [[] for _ in arms]
    gc.collect()
    gc.disable()
    try:
        began = before = clock()
        while len(blocks[0]) < MOST_BLOCKS and before + longest - began <= CELL_NS:
            times: list[list[float]] = [[] for _ in arms]
            for arm in next(order):
                count = slots[arm][0]
                times[arm].append(_slot(arms[arm], count, wait, clock) / count / 1000)
            for arm, (first, second) in enumerate(times):
                blocks[arm].append((first, second))
            after = clock()
            longest, before = max(longest, after - before), after
    finally:
        gc.enable()
    if len(blocks[0]) < LEAST_BLOCKS:
        raise _too_slow(longest)
    return blocks


def _slot(call: Call, count: int, wait: Wait, clock: Clock) -> int:
    began = clock()
    for _ in range(count):
        call()
    wait()
    return clock() - began


def _too_slow(block_ns: int) -> TraceRefusedError:
    return TraceRefusedError(
        "too_slow",
        f"A block of calls took {block_ns / 1e6:.0f} ms, so {LEAST_BLOCKS} do not fit into "
        f"{CELL_NS / 1e6:.0f} ms; the host's share of such a call is small.",
    )


def _arms(
    entry: Callable[..., Any],
    reference: Callable[..., Any],
    inputs: Sequence[torch.Tensor],
    baselines: Sequence[str],
    wait: Wait,
    notes: list[str],
) -> dict[str, Call]:
    """Returns what is called, warm, after a look at what it returns."""
    try:
        expected = reference(*inputs)
        wait()
    except Exception as error:
        raise _reference_failed(error) from error
    never_fall_back()
    if reason := disagreement(entry(*inputs), expected):
        raise TraceRefusedError("disagrees", f"Here {reason}.")
    arms: dict[str, Call] = {
        "candidate": partial(entry, *inputs),
        "eager": partial(reference, *inputs),
    }
    if "compile" in baselines:
        try:
            # What `torch.compile` gives, guards included; for references in C++ as well.
            graph = reference_graph(reference, inputs)
            compiled = torch.compile(graph, dynamic=False, fullgraph=True)
            if reason := disagreement(compiled(*inputs), expected):
                notes.append(f"compile: {reason}")
            else:
                arms["compile"] = partial(compiled, *inputs)
        except Exception as error:
            notes.append(f"compile: {_first_line(error)}")
    del expected
    for call in arms.values():
        for _ in range(_WARM_UPS):
            call()
        wait()
    return arms


def _loaded(problem: Mapping[str, Any]) -> Callable[..., Any]:
    try:
        return load_reference(problem)
    except Exception as error:
        raise _reference_failed(error) from error


def _reference_failed(error: Exception) -> TraceRefusedError:
    return TraceRefusedError(
        "reference", f"The reference failed in this process with {_first_line(error)}"
    )


def _first_line(error: Exception) -> str:
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}"


def _nothing(*_: Any) -> None:
    return None


def _tensors(results: Any) -> list[torch.Tensor]:
    results = [results] if isinstance(results, torch.Tensor) else results
    if not isinstance(results, (list, tuple)):
        return []
    return [one for one in results if isinstance(one, torch.Tensor)]


def _trim(device: str) -> None:
    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()


def _output(blocks: Sequence[Block]) -> dict[str, Any]:
    values = array("d", (time for block in blocks for time in block))
    return {
        "dtype": "float64",
        "shape": [len(blocks), 2],
        "strides": [2, 1],
        "bytes": values.tobytes(),
    }
