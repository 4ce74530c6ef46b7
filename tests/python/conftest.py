"""What several test files share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ouroboros
import pytest
import torch
from ouroboros.trace.command import make_tracer

Inputs = Sequence[tuple[str, torch.Tensor]]
Interpret = Callable[..., list[dict[str, Any]]]


def raw(tensor: torch.Tensor) -> bytes:
    return bytes(tensor.contiguous().view(-1).view(torch.uint8).numpy().tobytes())


@pytest.fixture(scope="session")
def interpret() -> Interpret:
    """Traces a Triton source and interprets its plans, as the referee does: in the sandbox.

    Takes the source, the named inputs of each signature and the names of the outputs; which variant
    to interpret (the first), and what to change the tracer's sources with before. Returns for each
    signature what the interpreter does, or what the trace does where it makes no plan.
    """
    pytest.importorskip("triton")
    limits = ouroboros.Limits(compile_seconds=300.0)
    tracer = make_tracer(limits, "sm_90")
    assert tracer is not None

    def interpreted(
        source: str,
        signatures: Sequence[Inputs],
        outputs: Sequence[str] = ("out",),
        *,
        name: str = "candidate",
        variant: int = 0,
        edit: Callable[[bytes], bytes] = bytes,
        target: str = "sm_90",
    ) -> list[dict[str, Any]]:
        described = [
            [(one, str(x.dtype).removeprefix("torch."), list(x.shape)) for one, x in inputs]
            for inputs in signatures
        ]
        results = tracer.trace(
            source.encode(),
            target=target,
            signatures=described,
            outputs=list(outputs),
            name=name,
            max_variants=variant + 1,
        )
        planned = [index for index, one in enumerate(results) if one["refusal"] is None]
        if not planned:
            return results
        values = [
            [
                results[index]["variants"][variant],
                edit(results[index]["sources"][variant]),
                *(raw(x) for _, x in signatures[index]),
            ]
            for index in planned
        ]
        answers = tracer.trace(
            b"",
            target=target,
            signatures=[described[index] for index in planned],
            outputs=list(outputs),
            operation="interpret",
            values=values,
        )
        for index, answer in zip(planned, answers, strict=True):
            results[index] = answer
        return results

    return interpreted
