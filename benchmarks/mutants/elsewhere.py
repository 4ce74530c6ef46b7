"""Whether a mutant that the judge let pass does what the honest kernel does, on other inputs.

The shapes and values here are not those of the judge's cases: longer rows than any of them, whole
blocks, infinities, NaN. Equal bits here and there are what a mutant is called equivalent by; a
difference here alone shows what the judge's cases lack.
"""

from __future__ import annotations

from typing import Any

import ouroboros
import torch
from operations import apart
from ouroboros.trace.command import make_tracer

__all__ = ["Elsewhere"]

CASES = (
    (3, 2048, "float32", "normal"),
    (2, 8192, "float32", "x64"),
    (3, 5000, "float32", "large_mean"),
    (70, 3, "float32", "normal"),
    (33, 512, "float32", "equal"),
    (5, 96, "float16", "x64"),
    (2, 6001, "float16", "normal"),
    (6, 1024, "float16", "large_mean"),
    (4, 33, "float32", "infinite"),
    (2, 3000, "float32", "infinite"),
    (4, 33, "float32", "nan"),
)
"""Rows, columns, dtype and family of values. The columns of rope are those of half a row."""


def values(shape: list[int], family: str, generator: torch.Generator) -> torch.Tensor:
    x = torch.randn(shape, generator=generator)
    if family == "x64":
        x *= 64
    elif family == "large_mean":
        x += 256
    elif family == "equal":
        x[:] = x[..., :1]
    elif family == "infinite":
        x[0] = -torch.inf
        x[1, ::3] = -torch.inf
        x[1, 1100:] = -torch.inf  # Blocks of nothing else.
    elif family == "nan":
        x[1, 5] = torch.nan
    return x


def draw(problem: ouroboros.Problem, case: tuple[int, int, str, str]) -> list[torch.Tensor]:
    rows, cols, dtype, family = case
    sizes = dict(zip([axis.name for axis in problem.axes], (rows, cols), strict=True))
    generator = torch.Generator().manual_seed(rows * 9973 + cols)
    inputs = []
    for one in problem.inputs:
        extents = [str(extent).split("*") for extent in one.shape]
        shape = [sizes[e[-1]] * (int(e[0]) if len(e) == 2 else 1) for e in extents]
        if one.values == "index":
            inputs.append(torch.randint(0, cols, shape, generator=generator))
            continue
        plain = one.values == "real" and not one.parameter
        x = values(shape, family if plain else "normal", generator)
        inputs.append(x.to(getattr(torch, dtype)))
    return inputs


class Elsewhere:
    """Traces and interprets kernels and their mutants, in the library's sandbox."""

    def __init__(self) -> None:
        tracer = make_tracer(ouroboros.Limits(compile_seconds=300.0), "sm_90")
        assert tracer is not None
        self.tracer = tracer
        self.honest: dict[str, list[dict[str, Any]]] = {}

    def run(self, problem: ouroboros.Problem, source: str) -> list[dict[str, Any]]:
        drawn = [draw(problem, case) for case in CASES]
        described = [
            [
                (one.name, str(x.dtype).removeprefix("torch."), list(x.shape))
                for one, x in zip(problem.inputs, inputs, strict=True)
            ]
            for inputs in drawn
        ]
        asked = {"target": "sm_90", "outputs": problem.outputs, "name": "mutant"}
        results = self.tracer.trace(source.encode(), signatures=described, max_variants=1, **asked)
        planned = [at for at, one in enumerate(results) if one["refusal"] is None]
        if planned:
            answers = self.tracer.trace(
                b"",
                signatures=[described[at] for at in planned],
                operation="interpret",
                values=[
                    [
                        *(results[at]["variants"][0], results[at]["sources"][0]),
                        *(x.view(-1).view(torch.uint8).numpy().tobytes() for x in drawn[at]),
                    ]
                    for at in planned
                ],
                **asked,
            )
            for at, answer in zip(planned, answers, strict=True):
                results[at] = answer
        return results

    def differences(self, kernel: str, source: str, mutant: str) -> list[list[Any]]:
        """Returns the cases in which bits differ, and by how many units."""
        problem = ouroboros.problems.load(kernel.split("__")[0])
        if kernel not in self.honest:
            self.honest = {kernel: self.run(problem, source)}
        found = []
        for case, mine, right in zip(
            CASES, self.run(problem, mutant), self.honest[kernel], strict=True
        ):
            distance = apart(mine, right)
            if distance > 0:
                found.append([f"{case[2]} {case[0]}x{case[1]} {case[3]}", distance])
        return found
