"""What the dry trace records, as a launch plan: docs/plan.md has the format.

Whoever reads a plan checks it; this side only has to write what it means.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ouroboros.trace.plan_file import write_plan

__all__ = [
    "Buffer",
    "Copy",
    "Kernel",
    "Memset",
    "Plan",
    "Pointer",
    "TensorMap",
]

Dim3 = tuple[int, int, int]
Json = dict[str, object]
Contents = bytes  # In the class `bytes` is a field.


@dataclass(frozen=True)
class Buffer:
    """An allocation; `dtype`, `shape` and `strides` are of inputs and outputs alone.

    `contents` are of state buffers alone.
    """

    name: str
    role: str
    bytes: int
    dtype: str = ""
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    contents: Contents = b""

    def to_dict(self) -> Json:
        """Returns the JSON object, without the number of the image that holds the contents."""
        document: Json = {"name": self.name, "role": self.role, "bytes": self.bytes}
        if self.role in ("input", "output"):
            document |= {
                "dtype": self.dtype,
                "shape": list(self.shape),
                "strides": list(self.strides),
            }
        return document


@dataclass(frozen=True)
class Pointer:
    """Eight bytes of the parameters that become an address."""

    at: int
    buffer: int
    offset: int

    def to_dict(self) -> Json:
        """Returns the JSON object."""
        return {"at": self.at, "buffer": self.buffer, "offset": self.offset}


@dataclass(frozen=True)
class TensorMap:
    """128 bytes of the parameters that become a TMA descriptor; lists are innermost first."""

    at: int
    buffer: int
    offset: int
    data_type: int
    sizes: tuple[int, ...]
    strides_bytes: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    interleave: int
    swizzle: int
    l2_promotion: int
    oob_fill: int

    def to_dict(self) -> Json:
        """Returns the JSON object."""
        return {
            "at": self.at,
            "buffer": self.buffer,
            "offset": self.offset,
            "data_type": self.data_type,
            "sizes": list(self.sizes),
            "strides_bytes": list(self.strides_bytes),
            "box": list(self.box),
            "element_strides": list(self.element_strides),
            "interleave": self.interleave,
            "swizzle": self.swizzle,
            "l2_promotion": self.l2_promotion,
            "oob_fill": self.oob_fill,
        }


@dataclass(frozen=True)
class Kernel:
    """A kernel launch."""

    module: int
    function: str
    grid: Dim3
    block: Dim3
    cluster: Dim3
    shared_bytes: int
    cooperative: bool
    parameters: bytes
    fields: tuple[tuple[int, int], ...]
    pointers: tuple[Pointer, ...]
    tensor_maps: tuple[TensorMap, ...]

    def to_dict(self) -> Json:
        """Returns the JSON object."""
        return {
            "kind": "kernel",
            "module": self.module,
            "function": self.function,
            "grid": list(self.grid),
            "block": list(self.block),
            "cluster": list(self.cluster),
            "shared_bytes": self.shared_bytes,
            "cooperative": self.cooperative,
            "parameters": self.parameters.hex(),
            "fields": [list(field) for field in self.fields],
            "pointers": [pointer.to_dict() for pointer in self.pointers],
            "tensor_maps": [tensor_map.to_dict() for tensor_map in self.tensor_maps],
        }


@dataclass(frozen=True)
class Memset:
    """Sets `count` elements of `width` bytes."""

    buffer: int
    offset: int
    value: int
    width: int
    count: int

    def to_dict(self) -> Json:
        """Returns the JSON object."""
        return {
            "kind": "memset",
            "buffer": self.buffer,
            "offset": self.offset,
            "value": self.value,
            "width": self.width,
            "count": self.count,
        }


@dataclass(frozen=True)
class Copy:
    """Copies `bytes` bytes between two places on the device."""

    buffer: int
    offset: int
    from_buffer: int
    from_offset: int
    bytes: int

    def to_dict(self) -> Json:
        """Returns the JSON object."""
        return {
            "kind": "copy",
            "buffer": self.buffer,
            "offset": self.offset,
            "from_buffer": self.from_buffer,
            "from_offset": self.from_offset,
            "bytes": self.bytes,
        }


@dataclass
class Plan:
    """A plan whose modules are all the candidate's; images are those of modules, then of state."""

    target: str
    variant: str = ""
    buffers: list[Buffer] = field(default_factory=list)
    modules: list[bytes] = field(default_factory=list)
    launches: list[Kernel | Memset | Copy] = field(default_factory=list)

    def to_bytes(self) -> bytes:
        """Returns the file."""
        images = list(self.modules)
        buffers = [buffer.to_dict() for buffer in self.buffers]
        for buffer, described in zip(self.buffers, buffers, strict=True):
            if buffer.role == "state":
                described["image"] = len(images)
                images.append(buffer.contents)
        document = {
            "origin": "dry_trace",
            "language": "triton",
            "target": self.target,
            "variant": self.variant,
            "buffers": buffers,
            "modules": [
                {"origin": "candidate", "image": index} for index in range(len(self.modules))
            ],
            "launches": [launch.to_dict() for launch in self.launches],
        }
        return write_plan(document, images)
