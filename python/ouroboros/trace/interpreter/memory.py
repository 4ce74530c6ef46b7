"""A plan's buffers in this process' memory, as kernels of the interpreter may touch them."""

from __future__ import annotations

import secrets
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from ouroboros.trace.interpreter.programs import Programs

__all__ = ["Buffers", "Refused"]

_ALIGNMENT = 512  # As allocations on a device are.


# Zero, much, much below zero and about one as real numbers; then whole ones.
_NUMBERS = 0, 0x7B7B7B7B, 0xFBFBFBFB, 0x3F3F3F3F, 1, 0xFFFFFFFF, 0x7FFFFFFF, 0x80000000


def _fresh_poison() -> bytes:
    """As the executor's: now a quiet NaN, now a number that memory may well hold."""
    word = 0x7FC00000 | secrets.randbits(22) if secrets.randbits(1) else secrets.choice(_NUMBERS)
    return word.to_bytes(4, "little")


class Refused(BaseException):
    """A kernel did what it may not, or what cannot be interpreted.

    Not an `Exception`: the interpreter wraps those.
    """

    def __init__(self, kind: str, op: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind
        self.op = op


class Buffers:
    """The buffers of one plan: inputs that are read-only, state, and poison in all others."""

    def __init__(
        self,
        described: Sequence[Mapping[str, Any]],
        inputs: Sequence[bytes],
        images: Sequence[bytes],
    ) -> None:
        """Makes the buffers.

        Args:
            described: The plan's buffers.
            inputs: What the first of them hold.
            images: The plan's, of which some are what state buffers hold.

        Raises:
            ValueError: An input is not as long as its buffer.
        """
        poison = _fresh_poison()
        self._bytes: list[Any] = []
        rows = []
        for index, one in enumerate(described):
            size = int(one["bytes"])
            whole = np.empty(size + _ALIGNMENT, np.uint8)
            start = -whole.ctypes.data % _ALIGNMENT
            held = whole[start : start + size]
            data = poison * (size // 4 + 1)
            if one["role"] in ("input", "state"):
                data = inputs[index] if one["role"] == "input" else images[one["image"]]
                if len(data) != size:
                    raise ValueError(f"{one['name']!r} has {len(data)} bytes, not {size}")
            held[:] = np.frombuffer(data, np.uint8)[:size]
            self._bytes.append(held)
            if size:
                rows.append((held.ctypes.data, held.ctypes.data + size, one["role"] != "input"))
        self._writable = [
            held for held, one in zip(self._bytes, described, strict=True) if one["role"] != "input"
        ]
        starts, ends, writable = zip(*sorted(rows or [(0, 0, False)]), strict=True)
        self._ranges = np.array(starts), np.array(ends), np.array(writable)
        # As secret as the inputs, and the same when a verdict is replayed.
        self._programs = Programs(zlib.crc32(b"".join(inputs)))

    @property
    def programs(self) -> Programs:
        """The programs of the launch that runs."""
        return self._programs

    def bytes_of(self, index: int) -> Any:
        """Returns a buffer as an array of bytes."""
        return self._bytes[index]

    def written(self) -> list[Any]:
        """Returns copies of what kernels may write to."""
        return [one.copy() for one in self._writable]

    def restore(self, before: Sequence[Any]) -> None:
        """Puts back what `written` has returned."""
        for one, copy in zip(self._writable, before, strict=True):
            one[:] = copy

    def address(self, index: int, offset: int) -> int:
        """Returns where a place in a buffer lies."""
        return int(self._bytes[index].ctypes.data) + offset

    def memset(self, one: Mapping[str, Any]) -> None:
        """Carries out a memset of the plan."""
        end = one["offset"] + one["width"] * one["count"]
        kind = np.dtype(f"<u{one['width']}")
        self._bytes[one["buffer"]][one["offset"] : end].view(kind)[:] = one["value"]

    def copy(self, one: Mapping[str, Any]) -> None:
        """Carries out a copy of the plan."""
        source = self._bytes[one["from_buffer"]][one["from_offset"] :]
        target = self._bytes[one["buffer"]][one["offset"] :]
        target[: one["bytes"]] = source[: one["bytes"]]

    # What `kernels.Memory` asks for.

    def ranges(self) -> tuple[Any, Any, Any]:
        """Returns first addresses, ends and whether one may write."""
        return self._ranges

    def refuse(self, kind: str, op: str, message: str) -> NoReturn:
        """Ends the run."""
        raise Refused(kind, op, message)
