"""The programs of one launch: in what order they run, and what they may know of one another.

A GPU runs them in any order, and side by side. Here they run one after another, so a kernel that
relies on an order would be right: they get one of chance. And what one program wrote another cannot
know unless it has looked, by something atomic or volatile, before: reading it all the same is a
race. Who only adds, and never looks at what was there, has learnt nothing.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from triton._C.libtriton import interpreter as _interpreter

__all__ = ["Programs", "Waits", "waits"]

_NOBODY = -1

_MOST_LOOKS = 4096
"""So often a program does what is atomic or volatile before it is said to wait for another."""

Record = Any


def waits(record: Record) -> bool:
    """Returns whether a recorded kernel may wait for another program of its launch.

    Such a one has a loop of no known length, and what is atomic or volatile.
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


class Waits(BaseException):
    """A program waits for one that has not run yet.

    Not an `Exception`: the interpreter wraps those.
    """


class Programs:
    """Who wrote what in the launch that runs.

    Attributes:
        current: The number of the program that runs, as a launch without this would count.
    """

    def __init__(self, seed: int) -> None:
        """Orders follow from `seed`."""
        self._random = np.random.default_rng(seed)
        self._order = np.empty(0, np.int64)
        self._grid = (0, 0, 0)
        self._writers: dict[int, Any] = {}
        self.current = 0
        self._looks = 0
        self._learnt = False
        self._most_looks = math.inf

    def launch(self, grid: tuple[int, ...], in_order: bool, may_wait: bool) -> None:
        """Begins a launch of so many programs along each axis.

        Args:
            grid: How many there are, along each axis.
            in_order: Whether they run in order, not in one of chance.
            may_wait: Whether one may look again and again; elsewhere that is `Waits`.
        """
        x, y, z = (*grid, 1, 1)[:3]
        self._grid = x, y, z
        count = x * y * z
        self._order = np.arange(count) if in_order else self._random.permutation(count)
        self._writers = {}
        self._most_looks = math.inf if may_wait else _MOST_LOOKS

    def look(self) -> None:
        """The program that runs does something atomic or volatile.

        Raises:
            Waits: It has done so very often.
        """
        self._looks += 1
        if self._looks > self._most_looks:
            raise Waits

    def learn(self) -> None:
        """The program that runs looks at what was found by something atomic or volatile."""
        self._learnt = True

    def turn(self, x: int, y: int, z: int) -> tuple[int, int, int]:
        """Returns which program runs where (x, y, z) would, one after another."""
        _, height, depth = self._grid
        self.current = int(self._order[(x * height + y) * depth + z])
        self._looks = 0
        self._learnt = False
        rest, last = divmod(self.current, depth)
        first, middle = divmod(rest, height)
        return first, middle, last

    def clash(
        self,
        ranges: tuple[Any, Any, Any],
        which: Any,
        addresses: Any,
        bytes_each: int,
        values: Any = None,
    ) -> bool:
        """Returns whether the program that runs cannot know what it finds where it reads or writes.

        Args:
            ranges: First addresses and ends of buffers, and whether one may write.
            which: In which of them each address lies.
            addresses: Of what is read or written.
            bytes_each: The size of an element.
            values: What is written there now; nothing where it is read.
        """
        starts, ends, writable = ranges
        for one in np.unique(which[writable[which]]):
            here = which == one
            offsets = addresses[here] - starts[one]
            writers = self._writers.get(one)
            if writers is not None and not self._learnt:
                found = writers[offsets]
                others = (found != _NOBODY) & (found != self.current)
                at = addresses[here][others]
                if at.size and (values is None or _changes(at, values[here][others], bytes_each)):
                    return True
            if values is not None:
                if writers is None:
                    writers = np.full(ends[one] - starts[one], _NOBODY, np.int32)
                    self._writers[one] = writers
                writers[(offsets[:, None] + np.arange(bytes_each)).reshape(-1)] = self.current
        return False


def _changes(addresses: Any, values: Any, bytes_each: int) -> bool:
    """Returns whether something else lies there: who writes the same changes nothing."""
    if values.dtype.itemsize != bytes_each:
        return False  # A mask, say, which memory holds otherwise.
    blank = np.zeros(addresses.shape, values.dtype)
    there = _interpreter.load(
        addresses.astype(np.uint64), np.ones(blank.shape, bool), blank, blank.dtype
    )
    return bool((there.view(np.uint8) != np.ascontiguousarray(values).view(np.uint8)).any())
