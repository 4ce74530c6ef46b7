"""Addresses without memory: where the tensors of a dry trace seem to lie."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

__all__ = ["Arena", "Block"]

BASE = 0x600000000000
# Blocks start at page boundaries of the driver, so they are aligned as allocations on a device
# are; a page lies between two, so that every address belongs to one block at most.
PAGE = 1 << 21

Contents = bytes  # In the class `bytes` is a field.


@dataclass(eq=False)
class Block:
    """One allocation.

    Attributes:
        address: Where it seems to lie.
        bytes: Its size.
        run: The call of the candidate that first used it; None before there is one.
        contents: What it holds before every call, if that came from the host.
    """

    address: int
    bytes: int
    run: int | None = None
    contents: Contents | None = None


class Arena:
    """Hands out blocks and says to which block an address belongs."""

    def __init__(self) -> None:
        self._top = BASE
        self._starts: list[int] = []
        self._blocks: list[Block] = []

    def allocate(self, size: int, run: int | None) -> Block:
        """Returns a new block of `size` bytes, made by the call `run`."""
        block = Block(self._top, size, run)
        self._starts.append(block.address)
        self._blocks.append(block)
        self._top += (size + PAGE - 1) // PAGE * PAGE + PAGE
        return block

    def find(self, address: int) -> Block | None:
        """Returns the block that holds `address`, its end included; None when there is none."""
        index = bisect_right(self._starts, address) - 1
        if index < 0:
            return None
        block = self._blocks[index]
        return block if address <= block.address + block.bytes else None
