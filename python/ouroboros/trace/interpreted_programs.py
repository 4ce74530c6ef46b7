"""The programs of one launch: in what order they run, and what they may know of one another.

A GPU runs them in any order, and side by side. Here they run one after another, so a kernel that
relies on an order would be right: they get one of chance. And what one program wrote another cannot
know unless something atomic, or volatile, came before: reading it all the same is a race.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["Programs", "waits"]

_NOBODY = -1

Record = Any


def waits(record: Record) -> bool:
    """Returns whether a recorded kernel may wait for another program of its launch.

    Such a one has a loop of no known length, and what is atomic or volatile. Its programs run in
    order: who waits for one that has not run would wait for ever.
    """
    nodes = list(itertools.chain.from_iterable(map(ast.walk, _trees(record))))
    loops = any(isinstance(one, ast.While) for one in nodes)
    words = {one.attr for one in nodes if isinstance(one, ast.Attribute)}
    words |= {one.id for one in nodes if isinstance(one, ast.Name)}
    words |= {one.arg for one in nodes if isinstance(one, ast.keyword) and one.arg}
    return loops and any(word == "volatile" or "atomic" in word for word in words)


def _trees(record: Record) -> Iterator[ast.AST]:
    """Yields the texts in a record, those of what it calls among them."""
    if isinstance(record, dict):
        if isinstance(record.get("source"), str):
            yield ast.parse(record["source"])
        for value in record.values():
            yield from _trees(value)
    elif isinstance(record, list):
        for value in record:
            yield from _trees(value)


class Programs:
    """Who wrote what in the launch that runs.

    Attributes:
        current: The number of the program that runs, as a launch without this would count.
        informed: Whether it did something atomic or volatile before.
    """

    def __init__(self, seed: int) -> None:
        """Orders follow from `seed`."""
        self._random = np.random.default_rng(seed)
        self._order = np.empty(0, np.int64)
        self._grid = (0, 0, 0)
        self._writers: dict[int, Any] = {}
        self.current = 0
        self.informed = False

    def launch(self, grid: tuple[int, ...], in_order: bool) -> None:
        """Begins a launch of so many programs along each axis."""
        x, y, z = (*grid, 1, 1)[:3]
        self._grid = x, y, z
        count = x * y * z
        self._order = np.arange(count) if in_order else self._random.permutation(count)
        self._writers = {}

    def turn(self, x: int, y: int, z: int) -> tuple[int, int, int]:
        """Returns which program runs where (x, y, z) would, one after another."""
        _, height, depth = self._grid
        self.current = int(self._order[(x * height + y) * depth + z])
        self.informed = False
        rest, last = divmod(self.current, depth)
        first, middle = divmod(rest, height)
        return first, middle, last

    def others(self, buffer: int, offsets: Any) -> Any:
        """Returns which bytes of a buffer another program of this launch wrote, as far as known."""
        if self.informed or buffer not in self._writers:
            return np.zeros(offsets.shape, bool)
        found = self._writers[buffer][offsets]
        return (found != _NOBODY) & (found != self.current)

    def wrote(self, buffer: int, size: int, offsets: Any) -> None:
        """Notes what the program that runs writes to a buffer of so many bytes."""
        if buffer not in self._writers:
            self._writers[buffer] = np.full(size, _NOBODY, np.int32)
        self._writers[buffer][offsets] = self.current
