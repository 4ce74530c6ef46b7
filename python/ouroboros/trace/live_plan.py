"""From two captures of one function to a launch plan. Plain data in, bytes out: no GPU needed.

A parameter block does not say which of its bytes are pointers. So the function is captured twice,
with everything that it touches at other addresses. A word that lies in the arena both times, at the
same place of the same allocation, is a pointer; everything else is a number.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ouroboros.trace.plan_file import write_plan

__all__ = ["Block", "Capture", "OriginRule", "Recipe", "Tensor", "TraceRefusedError", "make_plan"]

_STATE_LIMIT = 1 << 30
_WORD = 8
_MAP_BYTES = 128


OriginRule = Callable[[str | None, str], str]
"""Says "candidate" or "library" from the file that a module came from ("" for memory, None where
that is unknown) and a kernel's name."""


class TraceRefusedError(Exception):
    """What a function did cannot be a launch plan.

    Args:
        kind: A name, e.g. "random" or "unjoined_stream"; docs/live-trace.md lists them.
        message: One sentence.
        op: The kernel or operation, if one is to blame.
    """

    def __init__(self, kind: str, message: str, op: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.op = op


@dataclass(frozen=True)
class Tensor:
    """A tensor in device memory."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int
    bytes: int
    storage_bytes: int
    storage_offset: int = 0


@dataclass(frozen=True)
class Block:
    """An allocation."""

    address: int
    bytes: int


@dataclass(frozen=True)
class Capture:
    """One capture: the launches as the exporter gives them, and what lay where."""

    launches: Sequence[Mapping[str, Any]]
    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]
    own: Sequence[Block]  # Allocated for this capture, inputs included, by address.
    kept: Sequence[Block]  # From before the captures, by address.


@dataclass(frozen=True)
class Recipe:
    """What a plan says besides its launches, and how to get bytes."""

    language: str
    target: str
    image: Callable[[int], bytes]  # A cubin, by the exporter's index.
    contents: Callable[[int, int], bytes]  # Device memory: address, bytes.
    origin: OriginRule
    variant: str = ""


def make_plan(first: Capture, second: Capture, recipe: Recipe) -> bytes:
    """Returns the plan that both captures agree on.

    Raises:
        TraceRefusedError: They do not agree, or what they did cannot be a plan.
    """
    return _Maker(first, second, recipe).make()


class _Memory:
    """Finds the allocation that an address lies in."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self.blocks = sorted(blocks, key=lambda block: block.address)
        self._starts = [block.address for block in self.blocks]

    def find(self, address: int) -> tuple[int, int] | None:
        """Returns the block's index and the offset; one past a block's end is in it."""
        index = bisect.bisect_right(self._starts, address) - 1
        if index < 0 or address > self._starts[index] + self.blocks[index].bytes:
            return None
        return index, address - self._starts[index]

    def at(self, address: int) -> int | None:
        """Returns the index of the block that begins there."""
        index = bisect.bisect_left(self._starts, address)
        return index if index < len(self._starts) and self._starts[index] == address else None


@dataclass
class _Buffers:
    """The plan's buffers, in the order of their first use."""

    entries: list[dict[str, Any]] = field(default_factory=list)
    index: dict[tuple[str, int], int] = field(default_factory=dict)


class _Maker:
    def __init__(self, first: Capture, second: Capture, recipe: Recipe) -> None:
        self._first = first
        self._second = second
        self._recipe = recipe
        self._own = (_Memory(first.own), _Memory(second.own))
        self._kept = (_Memory(first.kept), _Memory(second.kept))
        self._buffers = _Buffers()
        self._images: list[bytes] = []
        self._image_index: dict[bytes, int] = {}
        self._modules: dict[tuple[int, str], int] = {}
        self._state_bytes = 0
        self._scratch = 0
        self._states = 0

    def make(self) -> bytes:
        self._require_same_course()
        self._add_signature()
        launches = [
            self._launch(one, other)
            for one, other in zip(self._first.launches, self._second.launches, strict=True)
        ]
        document = {
            "origin": "live_trace",
            "language": self._recipe.language,
            "target": self._recipe.target,
            "variant": self._recipe.variant,
            "buffers": self._buffers.entries,
            "modules": [{"origin": origin, "image": image} for image, origin in self._modules],
            "launches": launches,
        }
        return write_plan(document, self._images)

    # ---- What both captures must have in common --------------------------------------------------

    def _require_same_course(self) -> None:
        first, second = self._first, self._second
        if len(first.launches) != len(second.launches):
            raise _not_repeatable(
                f"it launched {len(first.launches)} times, and then {len(second.launches)} times"
            )
        if [one.bytes for one in first.own] != [one.bytes for one in second.own]:
            raise _not_repeatable("it allocated other sizes the second time")
        for index, (one, other) in enumerate(zip(first.launches, second.launches, strict=True)):
            for key in _FIXED[one["kind"]] if one["kind"] == other["kind"] else ("kind",):
                if one[key] != other[key]:
                    raise _not_repeatable(
                        f"launch {index} had {_words(key)} {one[key]}, and then {other[key]}"
                    )

    # ---- Buffers ---------------------------------------------------------------------------------

    def _add_signature(self) -> None:
        for role, ours, theirs in (
            ("input", self._first.inputs, self._second.inputs),
            ("output", self._first.outputs, self._second.outputs),
        ):
            for one, other in zip(ours, theirs, strict=True):
                if (one.dtype, one.shape, one.strides) != (other.dtype, other.shape, other.strides):
                    raise _not_repeatable(f"'{one.name}' had another shape or dtype")
                if role == "output":
                    self._require_own_storage(one)
                block = self._own[0].at(one.address)
                if block is None or self._own[1].at(other.address) != block:
                    raise _not_repeatable(f"'{one.name}' lay elsewhere")
                self._buffers.index["own", block] = len(self._buffers.entries)
                self._buffers.entries.append(
                    {
                        "name": one.name,
                        "role": role,
                        "bytes": one.bytes,
                        "dtype": one.dtype,
                        "shape": list(one.shape),
                        "strides": list(one.strides),
                    }
                )

    def _require_own_storage(self, output: Tensor) -> None:
        name = output.name
        block = self._own[0].find(output.address)
        for one in self._first.inputs:
            if block is not None and self._own[0].at(one.address) == block[0]:
                raise TraceRefusedError(
                    "output_aliases_input",
                    f"The output '{name}' lies in the memory of the input '{one.name}'.",
                )
        if block is None and self._kept[0].find(output.address) is not None:
            raise TraceRefusedError(
                "output_is_kept", f"The output '{name}' lies in memory from before the call."
            )
        if block is None:
            raise TraceRefusedError(
                "output_elsewhere", f"The output '{name}' lies in memory that PyTorch did not give."
            )
        if ("own", block[0]) in self._buffers.index:
            raise TraceRefusedError(
                "outputs_alias", f"The output '{name}' shares its memory with another output."
            )
        if output.storage_offset != 0 or output.storage_bytes != output.bytes:
            raise TraceRefusedError(
                "output_is_view",
                f"The output '{name}' is a view of a larger tensor; return one that owns its "
                "memory, e.g. by .contiguous() or .clone().",
            )

    def _own_buffer(self, block: int) -> int:
        found = self._buffers.index.get(("own", block))
        if found is not None:
            return found
        entry = {
            "name": f"scratch{self._scratch}",
            "role": "scratch",
            "bytes": self._own[0].blocks[block].bytes,
        }
        self._scratch += 1
        return self._add_buffer(("own", block), entry)

    def _state_buffer(self, address: int, size: int, op: str) -> int:
        found = self._buffers.index.get(("state", address))
        if found is not None:
            return found
        self._state_bytes += size
        if self._state_bytes > _STATE_LIMIT:
            raise TraceRefusedError(
                "state_too_large",
                "What the function reads of memory from before the call is more than "
                f"{_STATE_LIMIT >> 20} MiB.",
                op,
            )
        contents = self._recipe.contents(address, size)
        if self._holds_addresses(contents):
            raise TraceRefusedError(
                "state_holds_addresses",
                f"'{op}' reads memory from before the call that holds device addresses.",
                op,
            )
        entry = {
            "name": f"state{self._states}",
            "role": "state",
            "bytes": size,
            "image": self._add_image(contents),
        }
        self._states += 1
        return self._add_buffer(("state", address), entry)

    def _holds_addresses(self, contents: bytes) -> bool:
        """Whether a word lies in an allocation: a replay would follow it into nowhere."""
        ranges = [
            (memory.blocks[0].address, memory.blocks[-1].address + memory.blocks[-1].bytes)
            for memory in (*self._own, *self._kept)
            if memory.blocks
        ]
        words = memoryview(contents)[: len(contents) // _WORD * _WORD].cast("Q")
        return any(
            low <= word < high for word in set(words) for low, high in ranges if word >= 1 << 32
        )

    def _add_buffer(self, key: tuple[str, int], entry: dict[str, Any]) -> int:
        self._buffers.index[key] = len(self._buffers.entries)
        self._buffers.entries.append(entry)
        return len(self._buffers.entries) - 1

    # ---- Images ----------------------------------------------------------------------------------

    def _add_image(self, data: bytes) -> int:
        index = self._image_index.setdefault(data, len(self._images))
        if index == len(self._images):
            self._images.append(data)
        return index

    def _module(self, launch: Mapping[str, Any]) -> int:
        key = (
            self._add_image(self._recipe.image(launch["image"])),
            self._recipe.origin(launch["source"], launch["function"]),
        )
        return self._modules.setdefault(key, len(self._modules))

    # ---- Launches --------------------------------------------------------------------------------

    def _launch(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
        if one["kind"] == "kernel":
            return self._kernel(one, other)
        if one["kind"] == "memset":
            buffer, offset = self._place(one["address"], other["address"], "a memset")
            fixed = {key: one[key] for key in ("value", "width", "count")}
            return {"kind": "memset", "buffer": buffer, "offset": offset, **fixed}
        buffer, offset = self._place(one["address"], other["address"], "a copy")
        source, start = self._place(one["from_address"], other["from_address"], "a copy")
        return {
            "kind": "copy",
            "buffer": buffer,
            "offset": offset,
            "from_buffer": source,
            "from_offset": start,
            "bytes": one["bytes"],
        }

    def _place(self, one: int, other: int, op: str) -> tuple[int, int]:
        found = self._pointer(one, other, op)
        if found is None:
            raise TraceRefusedError(
                "foreign_memory", f"The target or source of {op} is not PyTorch's memory.", op
            )
        return found

    def _pointer(self, one: int, other: int, op: str) -> tuple[int, int] | None:
        """Returns the buffer and offset of an address of both captures; None for a number."""
        own = self._own[0].find(one)
        if own is not None:
            if self._own[1].find(other) != own:
                raise _not_repeatable(f"a pointer of '{op}' led elsewhere")
            return self._own_buffer(own[0]), own[1]
        kept = self._kept[0].find(one)
        if kept is not None and one == other and self._kept[1].find(other) is not None:
            block = self._kept[0].blocks[kept[0]]
            return self._state_buffer(block.address, block.bytes, op), kept[1]
        return None

    def _kernel(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
        op = one["function"]
        block = bytearray.fromhex(one["parameters"])
        again = bytes.fromhex(other["parameters"])
        maps = self._tensor_maps(one, other, block)
        taken = [(entry["at"], entry["at"] + _MAP_BYTES) for entry in maps]
        foreign = {entry["at"]: entry for entry in one["externals"]}
        foreign_again = {entry["at"]: entry for entry in other["externals"]}
        pointers = []
        for at in _words_of(one["fields"], taken):
            word = int.from_bytes(block[at : at + _WORD], "little")
            word_again = int.from_bytes(again[at : at + _WORD], "little")
            found = self._pointer(word, word_again, op)
            if found is None and (at in foreign or at in foreign_again):
                found = self._foreign(foreign.get(at), foreign_again.get(at), op)
            if found is not None:
                pointers.append({"at": at, "buffer": found[0], "offset": found[1]})
                block[at : at + _WORD] = bytes(_WORD)
        fixed = {key: one[key] for key in ("grid", "block", "cluster", "shared_bytes")}
        return {
            "kind": "kernel",
            "module": self._module(one),
            "function": op,
            **fixed,
            "cooperative": one["cooperative"],
            "parameters": block.hex(),
            "fields": one["fields"],
            "pointers": pointers,
            "tensor_maps": maps,
        }

    def _foreign(
        self, one: Mapping[str, Any] | None, other: Mapping[str, Any] | None, op: str
    ) -> tuple[int, int]:
        """Memory that a library allocated: its contents become state where they can."""
        if one is None or one != other:
            raise _not_repeatable(f"'{op}' uses memory of a library that moved")
        if one["memory"] != _DEVICE_MEMORY:
            raise TraceRefusedError("host_memory", f"'{op}' reaches into the host's memory.", op)
        if one["bytes"] == 0:
            raise TraceRefusedError(
                "foreign_memory", f"'{op}' uses memory that PyTorch did not allocate.", op
            )
        buffer = self._state_buffer(one["start"], one["bytes"], op)
        return buffer, one["address"] - one["start"]

    def _tensor_maps(
        self, one: Mapping[str, Any], other: Mapping[str, Any], block: bytearray
    ) -> list[dict[str, Any]]:
        found = []
        for ours, theirs in zip(one["tensor_maps"], other["tensor_maps"], strict=False):
            numbers = {key: ours[key] for key in _MAP_NUMBERS}
            if ours["at"] != theirs["at"] or numbers != {key: theirs[key] for key in _MAP_NUMBERS}:
                raise _not_repeatable(f"a descriptor of '{one['function']}' changed")
            place = self._place(ours["address"], theirs["address"], one["function"])
            found.append({"at": ours["at"], "buffer": place[0], "offset": place[1], **numbers})
            block[ours["at"] : ours["at"] + _MAP_BYTES] = bytes(_MAP_BYTES)
        return found


_DEVICE_MEMORY = 2

_FIXED = {
    "kernel": (
        "function",
        "image",
        "grid",
        "block",
        "cluster",
        "shared_bytes",
        "cooperative",
        "fields",
    ),
    "memset": ("value", "width", "count"),
    "copy": ("bytes",),
}

_MAP_NUMBERS = (
    "data_type",
    "sizes",
    "strides_bytes",
    "box",
    "element_strides",
    "interleave",
    "swizzle",
    "l2_promotion",
    "oob_fill",
)


def _words_of(fields: Sequence[Sequence[int]], taken: Sequence[tuple[int, int]]) -> list[int]:
    """Returns where pointers can be: aligned words of fields, outside descriptors."""
    return [
        at
        for offset, size in fields
        for at in range(-(-offset // _WORD) * _WORD, offset + size - _WORD + 1, _WORD)
        if not any(low <= at < high for low, high in taken)
    ]


def _words(key: str) -> str:
    return key.replace("_", " ")


def _not_repeatable(what: str) -> TraceRefusedError:
    return TraceRefusedError("not_repeatable", f"The function did not do the same twice: {what}.")
