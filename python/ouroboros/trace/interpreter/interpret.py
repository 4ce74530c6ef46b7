"""Interprets launch plans on a machine without a GPU: right or wrong, never how fast.

What is judged is the plan. The candidate's host code ran once, in the process that traced it, on
tensors without memory; here no line of it runs, and its kernels come from the texts that the
trace recorded. docs/dry-trace.md says what that proves and what it does not.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import time
import traceback
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from ouroboros.trace.interpreter.kernels import interpreted
from ouroboros.trace.interpreter.memory import Buffers, Refused
from ouroboros.trace.interpreter.plan import Kernels, carry_out
from ouroboros.trace.interpreter.recompiled import Image, images, odd_ones
from ouroboros.trace.interpreter.remade_kernels import unknown
from ouroboros.trace.interpreter.side_by_side import side_by_side
from ouroboros.trace.plan_file import read_plan
from ouroboros.trace.scratch import scratch_folder

__all__ = ["Call", "run"]

_LOG_BYTES = 16 << 10

# All processes of a request together may hold no more memory than one: each has all inputs.
_MOST_PROCESSES = 4
_MOST_INPUT_BYTES = 512 << 20


def run(request: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Interprets one plan for each signature of a request.

    Args:
        request: ``inputs`` has, for each of the ``signatures``, a plan file, what its kernels were
            compiled from (the tracer's "sources"), and the bytes of each input. ``scratch`` is a
            folder that may be written to.

    Returns:
        For each signature: ``outputs`` (objects with ``dtype``, ``shape``, ``strides`` and
        ``bytes``, which are those of the contiguous tensor), ``refusal`` (nothing, or an object
        with ``kind``, ``op``, ``message`` and ``traceback``), ``log`` and ``seconds``. Kinds are
        ``unsupported``, ``other_image``, ``out_of_bounds``, ``input_written``, ``race`` and
        ``exception``.
    """
    with scratch_folder(request.get("scratch")):
        calls = [Call(*values) for values in request["inputs"]]
        odd = odd_ones(image for call in calls for image in call.images)
        kernels = Kernels()
        return side_by_side(
            lambda index: calls[index].interpret(kernels, odd),
            [call.programs for call in calls],
            _processes(sum(call.input_bytes for call in calls)),
        )


def _processes(input_bytes: int) -> int:
    here = min(len(os.sched_getaffinity(0)), _MOST_PROCESSES)
    return min(here, _MOST_INPUT_BYTES // max(input_bytes, 1))


class Call:
    """One plan on one case.

    Attributes:
        images: The kernels that it launches.
        programs: How many programs that makes.
        input_bytes: The size of all inputs.
    """

    def __init__(self, plan: bytes, sources: bytes, *inputs: bytes) -> None:
        """Reads the plan; what is wrong with the sources, `interpret` tells."""
        self._plan, self._held = read_plan(plan)
        self._sources, self._inputs = sources, inputs
        self.programs = sum(math.prod(one.get("grid", ())) for one in self._plan["launches"])
        self.input_bytes = sum(map(len, inputs))
        self.images: list[Image] = []
        self._refusal: dict[str, str] | None = None
        try:
            if not sources:
                raise unknown("a plan without its kernels' sources")
            self.images = images(self._plan, self._held, sources)
        except (Exception, Refused) as error:
            self._refusal = _refusal(error)

    def interpret(self, kernels: Kernels, odd: Mapping[Image, BaseException]) -> dict[str, Any]:
        """Returns the outputs, or why there are none.

        Args:
            kernels: What other calls have made.
            odd: Images that are not what their sources compile to.
        """
        result: dict[str, Any] = {"outputs": [], "refusal": self._refusal}
        started = time.perf_counter()
        with _captured() as log:
            try:
                for image in self.images:
                    if image in odd:
                        raise odd[image]
                if self._refusal is None:
                    result["outputs"] = self._outputs(kernels)
            except (Exception, Refused) as error:
                result["refusal"] = _refusal(error)
        result["log"] = log.getvalue()[-_LOG_BYTES:]
        result["seconds"] = time.perf_counter() - started
        return result

    def _outputs(self, kernels: Kernels) -> list[dict[str, Any]]:
        described = self._plan["buffers"]
        buffers = Buffers(described, self._inputs, self._held)
        with interpreted(buffers):
            carry_out(self._plan, kernels.of(self._sources), buffers)
        return [
            _output(one, buffers.bytes_of(index))
            for index, one in enumerate(described)
            if one["role"] == "output"
        ]


@contextlib.contextmanager
def _captured() -> Iterator[io.StringIO]:
    log = io.StringIO()
    with contextlib.redirect_stdout(log), contextlib.redirect_stderr(log):
        yield log


def _output(described: Mapping[str, Any], held: Any) -> dict[str, Any]:
    dtype: torch.dtype = getattr(torch, described["dtype"])
    data = b""
    if held.size:
        # A copy of bools would make ones of bytes that are no bool.
        tensor = torch.from_numpy(held).view(torch.uint8 if dtype is torch.bool else dtype)
        tensor = tensor.as_strided(described["shape"], described["strides"])
        # A copy in any case: of axes with one element, strides can be anything.
        tensor = tensor.clone(memory_format=torch.contiguous_format)
        data = tensor.reshape(-1).view(torch.uint8).numpy().tobytes()
    return {
        "dtype": described["dtype"],
        "shape": described["shape"],
        "strides": described["strides"],
        "bytes": data,
    }


def _refusal(error: BaseException) -> dict[str, str]:
    """What went wrong at the root: the interpreter wraps what kernels raise."""
    root: BaseException = error
    while root.__cause__ is not None and not isinstance(root, Refused):
        root = root.__cause__
    kind, op, message = "exception", "", f"{type(root).__name__}: {root}"
    if isinstance(root, Refused):
        kind, op, message = root.kind, root.op, str(root)
    trace = "".join(traceback.format_exception(error))
    return {"kind": kind, "op": op, "message": message, "traceback": trace[-_LOG_BYTES:]}
