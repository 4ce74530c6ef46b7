"""TMA descriptors that the host makes, and that the device makes."""

from __future__ import annotations

from typing import Any

import pytest

HOST = """
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def transfer(source, target, shift, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row, column = tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS
    target.store([row, column], source.load([row, column]) + shift)


def run(x):
    out = torch.empty((64, 128), dtype=x.dtype, device=x.device)
    source = TensorDescriptor.from_tensor(x[:, 8:136], [16, 64])
    target = TensorDescriptor.from_tensor(out, [16, 64])
    transfer[(4, 2)](source, target, 1.5, ROWS=16, COLUMNS=64)
    return out
"""


def test_host_made_descriptors_are_recorded_as_what_they_describe(dry: Any) -> None:
    plan = dry(HOST, dry.tensor("x", [64, 256], "float16")).plan
    (kernel,) = plan["launches"]
    source, target = kernel["tensor_maps"]
    fields = kernel["fields"]
    # Map, shape and strides of each, the number between, two scratch pointers.
    assert [size for _, size in fields] == [128, 4, 4, 8, 8, 128, 4, 4, 8, 8, 4, 8, 8]
    assert (source["at"], target["at"]) == (fields[0][0], fields[5][0])
    # The compiler aligns a map to 64 bytes in the constant bank, where the block starts at 0x210.
    assert source == {
        "at": 48,
        "buffer": 0,
        "offset": 16,
        "data_type": 6,
        "sizes": [128, 64],
        "strides_bytes": [512],
        "box": [64, 16],
        "element_strides": [1, 1],
        "interleave": 0,
        "swizzle": 3,
        "l2_promotion": 2,
        "oob_fill": 0,
    }
    assert (target["buffer"], target["offset"], target["strides_bytes"]) == (1, 0, [256])
    assert [plan.parameter(0, index, form) for index, form in ((1, "i"), (2, "i"), (3, "q"))] == [
        64,
        128,
        256,
    ]
    assert plan.parameter(0, 10, "f") == 1.5
    parameters = bytes.fromhex(kernel["parameters"])
    assert not any(parameters[48:][:128]) and not any(parameters[target["at"] :][:128])


@pytest.mark.parametrize(
    ("dtype", "code"), [("bfloat16", 9), ("float32", 7), ("int32", 3), ("float64", 8)]
)
def test_element_types_are_those_of_the_driver(dry: Any, dtype: str, code: int) -> None:
    source = (
        HOST.replace("1.5", "1").replace("[16, 64]", "[16, 32]").replace("COLUMNS=64", "COLUMNS=32")
    )
    plan = dry(source, dry.tensor("x", [64, 256], dtype)).plan
    assert plan["launches"][0]["tensor_maps"][0]["data_type"] == code


def test_filling_with_nan(dry: Any) -> None:
    source = HOST.replace("136], [16, 64])", '136], [16, 64], padding="nan")')
    plan = dry(source, dry.tensor("x", [64, 256], "float16")).plan
    assert [entry["oob_fill"] for entry in plan["launches"][0]["tensor_maps"]] == [1, 0]


def test_without_tma_a_descriptor_is_a_pointer_and_its_geometry(dry: Any) -> None:
    plan = dry(HOST, dry.tensor("x", [64, 256], "float16"), target="sm_80").plan
    assert plan["launches"][0]["tensor_maps"] == []
    assert plan.pointee(0, 0) == ("x", 16)
    assert [plan.parameter(0, index, "q") for index in (1, 2, 3, 4)] == [64, 128, 256, 1]


DEVICE = """
@triton.jit
def transfer(x, out, rows, columns, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [rows, columns], [columns, 1], [ROWS, COLUMNS])
    target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [ROWS, COLUMNS])
    row, column = tl.program_id(0) * ROWS, tl.program_id(1) * COLUMNS
    target.store([row, column], source.load([row, column]))


def run(x):
    triton.set_allocator(
        lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    out = torch.empty_like(x)
    transfer[(4, 2)](x, out, 64, 128, ROWS=16, COLUMNS=64)
    return out
"""


def test_device_made_descriptors_get_a_scratch_buffer(dry: Any) -> None:
    plan = dry(DEVICE, dry.tensor("x", [64, 128], "float16")).plan
    scratch = plan["buffers"][2]
    # Two descriptors of 128 bytes for each of 8 programs.
    assert (scratch["role"], scratch["bytes"]) == ("scratch", 8 * 2 * 128)
    fields = plan["launches"][0]["fields"]
    assert plan.pointee(0, len(fields) - 2) == ("scratch0", 0)
    assert plan.pointee(0, len(fields) - 1) is None


def test_device_made_descriptors_without_an_allocator(dry: Any) -> None:
    source = DEVICE.replace("triton.set_allocator(", "(")
    refusal = dry(source, dry.tensor("x", [64, 128], "float16")).refused
    assert refusal["kind"] == "runtime_error"
    assert "no allocator was set" in refusal["message"]
