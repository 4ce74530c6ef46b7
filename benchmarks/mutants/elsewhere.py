"""Whether a mutant that the judge let pass does what the honest kernel does, on other inputs.

The shapes and values here are not those of the judge's cases: longer rows than any of them, whole
blocks, infinities, NaN. Equal bits here and there are what a mutant is called equivalent by; a
difference here alone shows what the judge's cases lack.
"""

from __future__ import annotations

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import ouroboros
import torch
from operations import apart

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


def request(problem: ouroboros.Problem, source: str) -> dict[str, Any]:
    """Returns what the library's interpreter is asked for: every case of a source."""
    signatures, data = [], []
    for case in CASES:
        inputs = draw(problem, case)
        buffers = [
            {
                "name": one.name,
                "dtype": str(x.dtype).removeprefix("torch."),
                "shape": list(x.shape),
                "strides": list(x.stride()),
            }
            for one, x in zip(problem.inputs, inputs, strict=True)
        ]
        signatures.append({"inputs": buffers, "outputs": problem.outputs})
        data.append([x.view(-1).view(torch.uint8).numpy().tobytes() for x in inputs])
    return {"source": source, "name": "mutant", "signatures": signatures, "inputs": data}


def interpreted(asked: dict[str, Any]) -> list[dict[str, Any]]:
    from ouroboros.trace import interpret

    return interpret.run(asked)


class Elsewhere:
    """Runs kernels and their mutants in a process of their own, which the interpreter changes."""

    def __init__(self) -> None:
        self.pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
        self.honest: dict[str, list[dict[str, Any]]] = {}

    def run(self, problem: ouroboros.Problem, source: str) -> list[dict[str, Any]]:
        return self.pool.submit(interpreted, request(problem, source)).result()

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
