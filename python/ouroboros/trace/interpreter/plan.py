"""Carries a plan's operations out in Triton's interpreter, one after another."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import numpy as np
import triton.language as tl
import triton.runtime.interpreter as interpreter

from ouroboros.trace.interpreter.arithmetic import fused
from ouroboros.trace.interpreter.memory import Buffers, Refused
from ouroboros.trace.interpreter.programs import Waits, waits
from ouroboros.trace.interpreter.remade_kernels import Remade, unknown, value_of

__all__ = ["Kernel", "Kernels", "carry_out"]

_SCALARS = {
    "u1": (tl.int1, "<u1"),
    "i8": (tl.int8, "<i1"),
    "u8": (tl.uint8, "<u1"),
    "i16": (tl.int16, "<i2"),
    "u16": (tl.uint16, "<u2"),
    "i32": (tl.int32, "<i4"),
    "u32": (tl.uint32, "<u4"),
    "i64": (tl.int64, "<i8"),
    "u64": (tl.uint64, "<u8"),
    "fp16": (tl.float16, "<f2"),
    "bf16": (tl.bfloat16, "<u2"),
    "fp32": (tl.float32, "<f4"),
    "fp64": (tl.float64, "<f8"),
}
_ELEMENTS = {name: kind for name, (kind, _) in _SCALARS.items()} | {
    "i1": tl.int1,
    "fp8e4nv": tl.float8e4nv,
    "fp8e5": tl.float8e5,
    "fp8e4b15": tl.float8e4b15,
}


# Those of NVIDIA's GPUs. What is made of bfloat16s is as exact as float32, or nearly.
_PRECISIONS = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")
_SHOWN = 500

# CU_TENSOR_MAP_DATA_TYPE_TFLOAT32 and _TFLOAT32_FTZ.
_ROUNDING_MAPS = (11, 12)

# A type as Triton writes it; those with a layout are Gluon's.
_DESCRIPTOR = re.compile(r"tensordesc<(?P<element>\w+)\[(?P<block>[\d, ]+)\]>")


@dataclass(frozen=True)
class Kernel:
    """A kernel as it is launched.

    Attributes:
        function: What runs.
        arguments: How its arguments are found.
        debug: Whether it was compiled with its assertions.
        fusion: Whether products and sums were contracted.
        waits: Whether its programs may wait for one another.
    """

    function: Remade
    arguments: list[Mapping[str, Any]]
    debug: bool
    fusion: bool
    waits: bool

    def launch(self, launch: Mapping[str, Any], buffers: Buffers) -> None:
        """Runs all programs of a launch, one after another, in an order of chance.

        In order where one waits for another: for one that has not run it would wait for ever. Who
        could wait, and does not, has no right to an order.
        """
        found = _Arguments(launch, buffers)
        named = {one["name"]: found.take(one) for one in self.arguments}
        # A cluster is one program to Triton.
        grid = tuple(n // c for n, c in zip(launch["grid"], launch["cluster"], strict=True))
        builder = interpreter.interpreter_builder
        options = replace(
            builder.options, debug=self.debug, allowed_dot_input_precisions=_PRECISIONS
        )
        with contextlib.ExitStack() as stack:
            stack.enter_context(mock.patch.object(builder, "options", options))
            if self.fusion:
                fused(stack)
            before = buffers.written() if self.waits else []
            try:
                self._run(grid, named, buffers, in_order=False)
            except Waits:
                buffers.restore(before)
                self._run(grid, named, buffers, in_order=True)

    def _run(
        self,
        grid: tuple[int, ...],
        named: Mapping[str, Any],
        buffers: Buffers,
        in_order: bool,
    ) -> None:
        buffers.programs.launch(grid, in_order, may_wait=in_order or not self.waits)
        try:
            self.function.launch(grid, named)
        except Exception as error:
            raise _gap(error) from error


class Kernels:
    """The kernels of many plans; what several plans share is made once."""

    def __init__(self) -> None:
        self._made: dict[str, Remade] = {}

    def of(self, sources: bytes) -> list[Kernel]:
        """Returns the kernel of each launch."""
        document = json.loads(sources)
        kernels = [self._kernel(one) for one in document["kernels"]]
        return [kernels[index] for index in document["launches"]]

    def _kernel(self, record: Mapping[str, Any]) -> Kernel:
        key = json.dumps(record["function"])
        if key not in self._made:
            self._made[key] = Remade(record["function"])
        options = record["options"]
        debug, fusion = (bool(options.get(name)) for name in ("debug", "enable_fp_fusion"))
        return Kernel(
            self._made[key], record["arguments"], debug, fusion, waits(record["function"])
        )


def carry_out(
    plan: Mapping[str, Any],
    kernels: Sequence[Kernel],
    buffers: Buffers,
) -> None:
    """Does what the plan says to its buffers.

    Raises:
        Refused: A kernel leaves its buffers, writes to an input, or cannot be interpreted.
    """
    left = iter(kernels)
    for launch in plan["launches"]:
        if launch["kind"] == "memset":
            buffers.memset(launch)
        elif launch["kind"] == "copy":
            buffers.copy(launch)
        else:
            next(left).launch(launch, buffers)


def _gap(error: BaseException) -> Refused:
    """Returns what the interpreter lacks: it raised, and Triton's compiler had taken the kernel."""
    while error.__cause__ is not None:
        error = error.__cause__
    text, name = str(error), type(error).__name__
    if isinstance(error, NotImplementedError) and "interpreter mode" in text:
        op = text.split()[0]
        return Refused("unsupported", op, f"Triton's interpreter does not know {op}")
    message = f"Triton's interpreter fails at what its compiler takes: {name}: {text[:_SHOWN]}"
    return Refused("unsupported", name, message)


class _Arguments:
    """The fields of one launch's parameter block, in order."""

    def __init__(self, launch: Mapping[str, Any], buffers: Buffers) -> None:
        self._buffers = buffers
        self._block = bytes.fromhex(launch["parameters"])
        self._places = {one["at"]: one for one in launch["pointers"]}
        self._maps = {one["at"]: one for one in launch["tensor_maps"]}
        self._fields: Iterator[tuple[int, int]] = iter(launch["fields"])

    def take(self, described: Mapping[str, Any]) -> Any:
        """Returns an argument, and goes on behind its fields."""
        if "value" in described:
            return value_of(described["value"], Remade)
        if "items" in described:
            return tuple(self.take(one) for one in described["items"])
        kind = described["kind"]
        if found := _DESCRIPTOR.fullmatch(kind):
            block = [int(extent) for extent in found["block"].split(",")]
            return self._descriptor(found["element"], block, described["fields"])
        return self._scalar(kind, *next(self._fields))

    def _scalar(self, kind: str, at: int, size: int) -> Any:
        if kind.startswith("*"):
            return _tensor(self._address(at), np.dtype("<u8"), _pointer(kind))
        if at in self._places:
            return _tensor(self._address(at), np.dtype("<i8"), tl.int64)
        if kind not in _SCALARS:
            raise unknown(f"an argument of type {kind}")
        dtype, layout = _SCALARS[kind]
        raw = np.frombuffer(self._block[at : at + size], np.dtype(layout))
        return interpreter.tl.tensor(interpreter.TensorHandle(raw, dtype), dtype)

    def _address(self, at: int) -> int:
        place = self._places.get(at)
        return 0 if place is None else self._buffers.address(place["buffer"], place["offset"])

    def _integer(self, at: int, size: int) -> int:
        return int.from_bytes(self._block[at : at + size], "little", signed=True)

    def _descriptor(self, element: str, block: list[int], fields: int) -> Any:
        """Returns a descriptor by the map that the plan holds; where it has none, by the fields."""
        rank = len(block)
        (at, _), *rest = [next(self._fields) for _ in range(fields)]
        numbers = [self._integer(*field) for field in rest]
        shape, strides = numbers[:rank], numbers[rank : 2 * rank]
        nan = bool(numbers[2 * rank]) if len(numbers) > 2 * rank else False
        rounding = False
        place = self._places.get(at)
        if at in self._maps:
            place = self._maps[at]
            width = _ELEMENTS[element].primitive_bitwidth // 8
            shape = place["sizes"][::-1]
            strides = [one // width for one in place["strides_bytes"][::-1]] + [1]
            nan = place["oob_fill"] == 1
            rounding = place["data_type"] in _ROUNDING_MAPS
        if place is None:
            raise unknown("a descriptor of no memory")
        address = self._buffers.address(place["buffer"], place["offset"])
        made = interpreter.interpreter_semantic.make_tensor_descriptor(
            base=_tensor(address, np.dtype("<u8"), _pointer("*" + element)),
            shape=[_tensor(one, np.dtype("<i4"), tl.int32) for one in shape],
            strides=[_tensor(one, np.dtype("<i8"), tl.int64) for one in strides[:-1]]
            + [tl.constexpr(1)],
            block_shape=[tl.constexpr(extent) for extent in block],
            padding_option="nan" if nan else "zero",
        )
        made.handle.round_f32_to_tf32 = rounding
        return made


def _tensor(value: int, layout: Any, dtype: Any) -> Any:
    handle = interpreter.TensorHandle(np.array([value], layout), dtype)
    return tl.tensor(handle, dtype)


def _pointer(kind: str) -> Any:
    """Returns the type that a signature calls, say, `*fp32` or, where it is only read, `*kfp32`."""
    element = kind[1:]
    const = element.startswith("k")
    element = element.removeprefix("k")
    if element.startswith("*"):
        return tl.pointer_type(_pointer(element), const=const)
    if element not in _ELEMENTS:
        raise unknown(f"a pointer to {element}")
    return tl.pointer_type(_ELEMENTS[element], const=const)
