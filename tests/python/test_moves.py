"""Casts, copies between layouts and the like in host code: a plan does what PyTorch does."""

from __future__ import annotations

from typing import Any

import pytest
import torch

pytest.importorskip("triton")

NUMBERS = ("float16", "bfloat16", "float32", "float64", "int32", "int64", "int8", "bool")
# 1 + 2^-11 + 2^-40 becomes 1 in float16 by way of float32, and the next number without.
EDGES = [
    1 + 2**-11 + 2**-40,
    0.0,
    -0.0,
    1.0,
    -1.5,
    2.5,
    0.1,
    65504.0,
    1e-7,
    -7.4e-8,
    3.0,
    127.0,
    -128.0,
]


def returned(interpret: Any, body: str, *inputs: torch.Tensor) -> torch.Tensor:
    names = [f"x{index}" for index in range(len(inputs))]
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    source = f"import torch\n\ndef run({', '.join(names)}):\n{lines}\n"
    (result,) = interpret(source, [list(zip(names, inputs, strict=True))])
    assert result["refusal"] is None, result["refusal"]
    (one,) = result["outputs"]
    # A byte more: there may be none.
    found = torch.frombuffer(bytearray(one["bytes"] + bytes(8)), dtype=getattr(torch, one["dtype"]))
    return found[: len(one["bytes"]) // found.itemsize].view(one["shape"])


def expected(body: str, *inputs: torch.Tensor) -> torch.Tensor:
    scope: dict[str, Any] = {"torch": torch}
    names = [f"x{index}" for index in range(len(inputs))]
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    exec(f"def run({', '.join(names)}):\n{lines}".replace("'cuda'", "'cpu'"), scope)
    result: torch.Tensor = scope["run"](*inputs)
    return result


def check(interpret: Any, body: str, *inputs: torch.Tensor) -> None:
    found, wanted = returned(interpret, body, *inputs), expected(body, *inputs)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    wanted = wanted.contiguous()
    assert torch.equal(found.view(torch.uint8), wanted.view(torch.uint8))


@pytest.mark.parametrize("target", NUMBERS)
@pytest.mark.parametrize("source", [*NUMBERS, "float8_e4m3fn", "float8_e5m2"])
def test_a_cast_is_the_one_of_pytorch(interpret: Any, source: str, target: str) -> None:
    if source == target:
        return
    values = torch.tensor(EDGES, dtype=torch.float64).to(getattr(torch, source))
    made = getattr(torch, target)
    if values.is_floating_point() and not made.is_floating_point and made != torch.bool:
        # What an integer cannot hold becomes anything, in C++ and so in PyTorch.
        whole = values.double().trunc()
        values = values[(whole >= torch.iinfo(made).min) & (whole <= torch.iinfo(made).max)]
    check(interpret, f"return x0.to(torch.{target})", values)


@pytest.mark.parametrize(
    "body",
    [
        "return x0.t().contiguous()",
        "return x0.t().half()",
        "return x0.t().reshape(-1)",
        "return x0[:, 1:6].contiguous()",
        "return x0[1].expand(5, 8).contiguous()",
        "return x0.repeat_interleave(3, dim=0)",
        "return x0.float().clone(memory_format=torch.contiguous_format)",
        "return torch.empty((4, 8), dtype=torch.float16, device='cuda').copy_(x0)",
        "return torch.empty((4, 8), device='cuda').copy_(x0[0])",
        "return torch.cat([x0, x0[:2], x0[3:]])",
        "return torch.cat([x0, x0.half()], dim=-1)",
        "return torch.stack([x0[0], x0[2]], dim=1)",
        "return torch.nn.functional.pad(x0, (0, 3, 1, 0))",
        "return torch.nn.functional.pad(x0, (-1, 2), value=float('-inf'))",
        "return torch.arange(7, device='cuda')",
        "return torch.arange(3, 50, 4, device='cuda', dtype=torch.int32)",
        "return torch.arange(9, 2, -2, device='cuda', dtype=torch.float32)",
        "return torch.full((3, 5), 7, dtype=torch.int64, device='cuda')",
        "return torch.full((3, 5), 0.1, dtype=torch.float64, device='cuda')",
        "out = x0.clone()\nout[:, 3] = 0\nreturn out",
        "out = x0.clone()\nout[1:3, ::2] = 2.5\nreturn out",
        "out = x0.new_empty((6, 8))\nout[:4] = x0\nout[4:] = 1\nreturn out[1:].clone()",
        "return torch.cat([x0, x0])[:3].clone()",
        "out = x0.new_zeros((8, 4))\nout[2:] = x0.t()[2:]\nreturn out.t().contiguous()",
        "return torch.zeros((2, 0), device='cuda').half()",
        "return x0.view(2, 2, 2, 2, 2)[:, :, 1].permute(3, 1, 0, 2).contiguous()",
        "return x0.repeat(3, 1)",
        "return x0[0].repeat(2, 3, 2)",
        "return x0.t().repeat(1, 1, 2)",
        "return x0.repeat(0, 1)",
        "return torch.tile(x0, (2, 2))",
        "return x0.flip(0)",
        "return x0.flip(-1)",
        "return x0.flip(0, 1)",
        "return x0.t().flip(1)",
        "return x0[1].expand(5, 8).flip([0, 1])",
        "return torch.fliplr(x0[:, 1:6])",
        "return x0[:0].flip(0)",
        "out = x0.clone()\nout[:, :4] = out[:, 4:]\nreturn out",
        "out = x0.clone()\nout[:, ::2].copy_(out[:, 1::2])\nreturn out",
        "out = x0.clone()\nout[:, 1:3].copy_(out[:2, 4:].t())\nreturn out",
        "out = x0.clone()\nreturn out.copy_(out).unsqueeze_(0).transpose_(0, 1).squeeze_(1).t_()",
    ],
)
def test_what_host_code_moves_is_where_pytorch_puts_it(interpret: Any, body: str) -> None:
    check(interpret, body, torch.randn(4, 8, generator=torch.Generator().manual_seed(3)))


def test_a_large_tensor_is_turned_around_as_a_whole(interpret: Any) -> None:
    x = torch.arange(40 * 90, dtype=torch.float32).view(40, 90)
    check(interpret, "return x0.flip(0, 1)", x)
    check(interpret, "return x0.flip(1)", x)


def test_a_large_matrix_is_transposed_as_a_whole(interpret: Any) -> None:
    x = torch.arange(70 * 90, dtype=torch.float32).view(70, 90)
    check(interpret, "return x0.t().contiguous()", x)


def test_every_bit_of_what_is_only_copied_stays(interpret: Any) -> None:
    odd = torch.tensor([0x7F800001, 0x7FC00123, -0x400001, 1], dtype=torch.int32)
    check(interpret, "return x0.view(2, 2).t().contiguous()", odd.view(torch.float32))
    check(interpret, "return x0[::2].contiguous()", odd.view(torch.float8_e5m2))
