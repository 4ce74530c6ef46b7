"""Allocations, fills, copies and views on tensors without memory."""

from __future__ import annotations

from typing import Any

import pytest
import torch

ADD = """
@triton.jit
def add(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + at, tl.load(x + at, mask=at < n).to(out.dtype.element_ty), mask=at < n)
"""


def run_of(body: str) -> str:
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    return f"{ADD}\n\ndef run(x):\n{lines}\n"


def test_zeros_then_atomic_accumulation(dry: Any) -> None:
    plan = dry(
        run_of(
            """
out = torch.zeros(100, device=x.device)
add[(1,)](x, out, 100, BLOCK=128)
return out
"""
        ),
        dry.tensor("x", [100]),
    ).plan
    memset, kernel = plan["launches"]
    assert memset == {
        "kind": "memset",
        "buffer": 1,
        "offset": 0,
        "value": 0,
        "width": 4,
        "count": 100,
    }
    assert kernel["kind"] == "kernel"


@pytest.mark.parametrize(
    ("expression", "memset"),
    [
        ("torch.zeros_like(x)", (0, 4, 50)),
        ("x.new_zeros(100)", (0, 4, 50)),
        ("torch.zeros(101, dtype=torch.float16, device='cuda')[:0].new_zeros(101)", (0, 2, 101)),
        ("torch.ones_like(x)", (0x3C003C00, 4, 50)),
        ("torch.full((100,), 1.5, dtype=torch.float32, device='cuda')", (0x3FC00000, 4, 100)),
        ("torch.full((100,), -1, dtype=torch.int64, device='cuda')", (0xFFFFFFFF, 4, 200)),
        ("torch.empty(100, dtype=torch.bfloat16, device='cuda').fill_(1)", (0x3F803F80, 4, 50)),
        ("torch.empty_like(x).zero_()", (0, 4, 50)),
        ("torch.empty((10, 10), device='cuda').t().zero_()", (0, 4, 100)),
        ("torch.full_like(x, float('-inf'))", (0xFC00FC00, 4, 50)),
        ("torch.tensor(1.0, device='cuda')", (0x3F800000, 4, 1)),
        ("torch.tensor(1.0, device=0)", (0x3F800000, 4, 1)),
        ("torch.ones(4, device=x.get_device())", (0x3F800000, 4, 4)),
        ("x.new_ones(4, device=torch.cuda.current_device())", (0x3C003C00, 4, 2)),
        ("torch.tensor([0], device=x.device, dtype=torch.int32)", (0, 4, 1)),
    ],
)
def test_fills_become_memsets(dry: Any, expression: str, memset: tuple[int, ...]) -> None:
    plan = dry(run_of(f"return {expression}"), dry.tensor("x", [100], "float16")).plan
    launch = [launch for launch in plan["launches"] if launch["kind"] == "memset"][-1]
    assert (launch["value"], launch["width"], launch["count"]) == memset


def test_values_of_the_host_are_state(dry: Any) -> None:
    traced = dry(run_of("return torch.tensor([1, 2], device='cuda').clone()"), dry.tensor("x", [4]))
    state = traced.plan["buffers"][2]
    assert (state["role"], state["bytes"]) == ("state", 16)
    assert traced.plan["launches"] == [
        {"kind": "copy", "buffer": 1, "offset": 0, "from_buffer": 2, "from_offset": 0, "bytes": 16}
    ]


@pytest.mark.parametrize(
    "made",
    ["torch.linspace(0, 1, 7, device=DEVICE)", "torch.eye(3, 4, device=DEVICE)",
     "torch.logspace(0, 1, 5, base=2, dtype=torch.float64, device=DEVICE)",
     "torch.tril_indices(3, 3, device=DEVICE)"],
)  # fmt: skip
def test_tables_that_follow_from_a_few_numbers_are_state(dry: Any, made: str) -> None:
    on_device, on_host = (made.replace("DEVICE", f"'{kind}'") for kind in ("cuda", "cpu"))
    plan = dry(run_of(f"return {on_device}.clone()"), dry.tensor("x", [4])).plan
    (image,) = plan.images
    assert plan["buffers"][2]["role"] == "state"
    assert image == eval(on_host, {"torch": torch}).view(-1).view(torch.uint8).numpy().tobytes()


@pytest.mark.parametrize(
    ("expression", "op"),
    [
        ("torch.tensor([1, 2], device='cuda')", "values of the host as an output"),
        (
            "torch.tensor([x.data_ptr(), 0], device='cuda').clone()",
            "an address among values of the host",
        ),
    ],
)
def test_what_values_of_the_host_cannot_be(dry: Any, expression: str, op: str) -> None:
    refusal = dry(run_of(f"return {expression}"), dry.tensor("x", [4])).refused
    assert (refusal["kind"], refusal["op"]) == ("unsupported", op)


@pytest.mark.parametrize(
    "moved",
    [
        "x.to('cuda')",
        "x.to(device=torch.device('cuda'))",
        "x.to('cuda', torch.float32)",
        "x.to(x.device)",
        "torch.as_tensor(x, device='cuda')",
        "torch.as_tensor(x, device=0)",
        "x.to(0)",
        "x.to(device=torch.cuda.current_device())",
    ],
)
def test_moving_to_the_device_that_it_is_on_does_nothing(dry: Any, moved: str) -> None:
    body = f"assert {moved}.data_ptr() == x.data_ptr()\nreturn torch.zeros_like({moved})"
    assert len(dry(run_of(body), dry.tensor("x", [4])).plan["launches"]) == 1


@pytest.mark.parametrize("kind", ["custom_op", "triton_op"])
def test_an_operator_of_the_candidates_own_is_host_code(dry: Any, kind: str) -> None:
    source = (
        ADD
        + f"""

@torch.library.{kind}("candidate_{kind}::added", mutates_args=())
def added(x: torch.Tensor) -> torch.Tensor:
    out = torch.zeros(100, device="cuda")
    add[(1,)](x, out, 100, BLOCK=128)
    return out


def run(x):
    return added(x)
"""
    )
    plan = dry(source, dry.tensor("x", [100])).plan
    assert [launch["kind"] for launch in plan["launches"]] == ["memset", "kernel"]


@pytest.mark.parametrize(
    ("devices", "kinds"),
    [('"cuda"', ["memset", "kernel"]), ('["cpu", "cuda"]', ["memset", "kernel"]),
     ("None", ["memset", "kernel"]), ('"cpu"', ["memset"])],
)  # fmt: skip
def test_an_operator_does_what_is_registered_for_the_device(
    dry: Any, devices: str, kinds: list[str]
) -> None:
    source = (
        ADD
        + f"""

@torch.library.custom_op("candidate_kernels::added", mutates_args=())
def added(x: torch.Tensor) -> torch.Tensor:
    return torch.zeros(100, device="cuda")


@added.register_kernel({devices})
def _(x):
    out = torch.zeros(100, device="cuda")
    add[(1,)](x, out, 100, BLOCK=128)
    return out


def run(x):
    return added(x)
"""
    )
    assert dry(source, dry.tensor("x", [100])).plan.kinds == kinds


REGISTERED = {
    "Library": """
lib = torch.library.Library("candidate_lib", "DEF")
lib.define("added(Tensor x, *, int n) -> Tensor")
lib.impl("added", added, "KEY")
""",
    "by functions": """
torch.library.define("candidate_lib::added", "(Tensor x, *, int n) -> Tensor")
torch.library.impl("candidate_lib::added", "KEY")(added)
""",
}


@pytest.mark.parametrize(
    ("registered", "key"),
    [
        ("Library", "CUDA"),
        ("Library", "CompositeExplicitAutograd"),
        ("by functions", "cuda"),
        ("by functions", "default"),
    ],
)
def test_an_operator_of_a_library_is_host_code(dry: Any, registered: str, key: str) -> None:
    source = (
        ADD
        + f"""

def added(x, *, n):
    out = torch.zeros(n, device=0)
    add[(1,)](x, out, n, BLOCK=128)
    return out

{REGISTERED[registered].replace("KEY", key)}

def run(x):
    return torch.ops.candidate_lib.added(x, n=100)
"""
    )
    x = dry.tensor("x", [100])
    assert dry(source, x).plan.kinds == ["memset", "kernel"]
    other = "CPU" if registered == "Library" else "cpu"
    for_another = dry(source.replace(f'"{key}"', f'"{other}"'), x)
    assert for_another.refused["op"] == "candidate_lib::added"


def test_a_value_of_eight_bytes_is_written_once_and_copied(dry: Any) -> None:
    body = "return torch.full((4,), 7, dtype=torch.int64, device='cuda')"
    plan = dry(run_of(body), dry.tensor("x", [4])).plan
    assert [(one["kind"], one.get("value"), one.get("offset")) for one in plan["launches"]] == [
        ("memset", 7, 0),
        ("memset", 0, 4),
        ("kernel", None, None),
    ]
    assert plan.pointee(2, 0) == ("scratch0", 0)
    assert plan.pointee(2, 1) == ("out", 0)


def test_fills_of_parts(dry: Any) -> None:
    plan = dry(
        run_of(
            """
out = torch.empty((8, 16), device="cuda")
out[2:4].zero_()
out[5, 3:8] = 1.0
out[7] = torch.tensor(2.0)
return out
"""
        ),
        dry.tensor("x", [4]),
    ).plan
    assert [
        (launch["offset"], launch["count"], launch["value"]) for launch in plan["launches"]
    ] == [
        (2 * 64, 32, 0),
        (5 * 64 + 12, 5, 0x3F800000),
        (7 * 64, 16, 0x40000000),
    ]


@pytest.mark.parametrize(
    ("body", "launches"),
    [
        ("return x.half()", 1),
        ("return x.t().contiguous()", 1),
        ("return x.contiguous().to(torch.float64)", 1),
        ("out = torch.empty_like(x)\nout[:, 3:].zero_()\nreturn out", 2),
        ("return torch.arange(4, device='cuda')", 1),
        ("return torch.cat([x.t(), x.t()])", 2),
        ("return x.clone().t().contiguous()", 2),
        ("return torch.zeros((8, 4), device='cuda')[:, :2].contiguous()", 2),
    ],
)
def test_what_is_moved_is_moved_by_kernels_of_the_referees(
    dry: Any, body: str, launches: int
) -> None:
    plan = dry(run_of(body), dry.tensor("x", [4, 8])).plan
    assert len(plan["launches"]) == launches
    assert plan.kernels[-1]["function"] in ("ouroboros_copy", "ouroboros_count")
    output = plan["buffers"][1]
    assert output["name"] == "out"
    assert output["strides"] == dry.tensor("out", output["shape"])["strides"]


@pytest.mark.parametrize(
    "copied",
    [
        "out[:, 1:].copy_(out[:, :-1])",
        "out[1:].copy_(out[:-1])",
        "out[:4, :4].copy_(out[:4, :4].t())",
        "out.view(torch.int32)[:, 2:].copy_(out[:, :-2])",
    ],
)
def test_a_copy_onto_what_it_reads_is_refused(dry: Any, copied: str) -> None:
    """What it does depends on what is copied first, on a device too."""
    refusal = dry(run_of(f"out = x.clone()\n{copied}\nreturn out"), dry.tensor("x", [8, 8])).refused
    assert (refusal["kind"], refusal["op"]) == ("unsupported", "aten::copy_")


@pytest.mark.parametrize("written", ["copy_(x)", "zero_()", "fill_(x[0, 0].numel())"])
def test_what_is_expanded_is_not_written(dry: Any, written: str) -> None:
    body = f"out = torch.empty(8, device='cuda').expand(4, 8)\nout.{written}\nreturn out"
    refusal = dry(run_of(body), dry.tensor("x", [4, 8])).refused
    assert refusal["kind"] == "runtime_error"
    assert "written-to tensor refers to a single memory location" in refusal["message"]


def test_shapes_that_differ_in_size_alone_share_a_kernel(dry: Any) -> None:
    tensors = [(dry.tensor("x", [rows, 24]),) for rows in (5, 7, 9, 11, 13)]
    outcomes = dry(run_of("return x.t().half()"), *tensors[0], more=tensors[1:])
    assert len({one.plan.document["images"][0]["sha256"] for one in outcomes}) == 1


@pytest.mark.parametrize(
    "expression",
    [
        "x.clone()",
        "torch.empty_like(x).copy_(x)",
        "x.to(x.dtype, copy=True)",
        "x.t().clone().t()",
        "x.contiguous().clone().view(4, 8)",
    ],
)
def test_copies(dry: Any, expression: str) -> None:
    plan = dry(run_of(f"return {expression}"), dry.tensor("x", [4, 8])).plan
    assert plan["launches"] == [
        {
            "kind": "copy",
            "buffer": 1,
            "offset": 0,
            "from_buffer": 0,
            "from_offset": 0,
            "bytes": 128,
        }
    ]


@pytest.mark.parametrize(
    ("expression", "op"),
    [
        ("x.to(torch.complex64)", "aten::_to_copy"),
        ("x.to(torch.float8_e5m2)", "aten::_to_copy from torch.float32 to torch.float8_e5m2"),
        ("torch.arange(0.5, 4, device='cuda')", "aten::arange"),
        ("torch.roll(x, 1)", "aten::roll"),
        ("x.untyped_storage().data_ptr()", "storage of a tensor"),
        ("x.cpu()", "aten::_to_copy"),
        ("x + 1", "aten::add.Tensor"),
        ("torch.softmax(x, -1)", "aten::_softmax"),
        ("x[x > 0]", "aten::gt.Scalar"),
        ("x[[0, 1]]", "aten::index.Tensor"),
        ("torch.rand(4, device='cuda')", "aten::rand"),
        ("x.sum().item()", "aten::sum"),
        ("x[0, 0].item()", "aten::_local_scalar_dense"),
        ("bool(x[0, 0])", "aten::_local_scalar_dense"),
        ("x if x[0, 0] > 0 else None", "aten::gt.Scalar"),
        ("print(f'{x[0, 0]:.3f}')", "aten::_local_scalar_dense"),
        ("x.tolist()", "Tensor.tolist"),
        ("x.numpy()", "Tensor.numpy"),
        ("float(x[0, 0])", "aten::_local_scalar_dense"),
        ("torch.mm(x, x.t(), out=torch.empty(4, 4, device='cuda'))", "aten::mm.out"),
    ],
)
def test_what_needs_data_is_refused_by_name(dry: Any, expression: str, op: str) -> None:
    refusal = dry(run_of(f"return {expression}"), dry.tensor("x", [4, 8])).refused
    assert refusal["kind"] == "needs_device"
    assert refusal["op"].startswith(op)
    assert refusal["op"] in refusal["message"]
    assert refusal["traceback"].startswith("line 13, in run: return ")


def test_printing_a_tensor_shows_its_geometry(dry: Any) -> None:
    body = """print(x, f"{x}", [x])
assert str(x) == f"{x}" == "tensor(..., device='cuda:0', size=(4, 8))"
return x.clone()"""
    assert dry(run_of(body), dry.tensor("x", [4, 8])).refusal is None


def test_a_refusal_cannot_be_swallowed(dry: Any) -> None:
    body = "try:\n    return x + 1\nexcept Exception:\n    return torch.zeros_like(x)"
    assert dry(run_of(body), dry.tensor("x", [4])).refused["op"] == "aten::add.Tensor"


def test_geometry_needs_no_device(dry: Any) -> None:
    plan = dry(
        run_of(
            """
assert x.is_cuda and x.device == torch.device("cuda", 0) and x.device.type == "cuda"
assert x.shape == (4, 8) and x.stride() == (8, 1) and x.stride(0) == 8 and x.size(-1) == 8
assert x.numel() == 32 and x.ndim == x.dim() == 2 and x.element_size() == 4
assert x.is_contiguous() and not x.t().is_contiguous() and x.dtype is torch.float32
assert x.to(torch.float32) is x and x.cuda() is x and x.float() is x and x.contiguous() is x
assert x.data_ptr() % 256 == 0 and x[1, 2:].data_ptr() == x.data_ptr() + 40
assert x.view(-1, 2).shape == (16, 2) and x.reshape(2, 2, 8).stride() == (16, 8, 1)
assert x.unsqueeze(0).expand(3, 4, 8).stride() == (0, 8, 1)
assert [part.storage_offset() for part in x.split(2)] == [0, 16]
assert [part.shape for part in x.chunk(2, dim=1)] == [(4, 4)] * 2
assert x.as_strided((2, 2), (1, 4)).stride() == (1, 4) and x.flatten().shape == (32,)
assert x.permute(1, 0).shape == (8, 4) and x.mT.shape == (8, 4) and x[..., None].ndim == 3
assert x.view(torch.int32).dtype is torch.int32 and x.detach().data_ptr() == x.data_ptr()
assert not x.requires_grad and x.squeeze(0).shape == (4, 8) and len(x) == 4
assert torch.empty(0, device="cuda").data_ptr() == 0 and x.get_device() == 0
assert torch.empty(4, 8).device.type == "cpu" and torch.ones(3).sum().item() == 3
with torch.no_grad(), torch.inference_mode():
    out = torch.empty_like(x.view(8, 4).t())
assert out.stride() == (1, 4)
return out.zero_().t()
"""
        ),
        dry.tensor("x", [4, 8]),
    ).plan
    assert plan["buffers"][1]["strides"] == [4, 1]


def test_geometry_may_change_in_place(dry: Any) -> None:
    plan = dry(
        run_of(
            """
y = x[1:]
assert y.unsqueeze_(1) is y and y.shape == (3, 1, 8) and y.stride(0) == 8 and y.size(1) == 1
assert y.squeeze_().shape == (3, 8) and y.data_ptr() == x.data_ptr() + 32
assert y.t_().stride() == (1, 8) and y.transpose_(0, 1).is_contiguous()
assert y[2].data_ptr() == x.data_ptr() + 96 and y.view(24).shape == (24,)
x.t_()
assert x.shape == (8, 4)
return torch.zeros_like(y)
"""
        ),
        dry.tensor("x", [4, 8]),
    ).plan
    assert [buffer["shape"] for buffer in plan["buffers"]] == [[4, 8], [3, 8]]
    assert plan["buffers"][0]["strides"] == [8, 1]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("return x", "'out' shares its memory with input 'x'"),
        ("return x.view(2, 2)", "'out' shares its memory with input 'x'"),
        ("return torch.zeros(8, device='cuda')[::2]", "a view of a part of a larger allocation"),
        ("return torch.zeros(1, device='cuda').expand(4)", "a view of a part"),
        ("return torch.zeros(4)", "on cpu, not on the GPU"),
        ("return 3.0", "is a float, not a tensor"),
        ("pass", "is a NoneType, not a tensor"),
        ("return {'out': x.clone()}", "returned a dict: return the outputs as a tuple"),
        ("return x.clone(), x.clone()", "returned 2 values where the problem has 1 outputs"),
        ("return torch.zeros(4, dtype=torch.int16, device='cuda')", "dtype torch.int16"),
    ],
)
def test_what_cannot_be_an_output(dry: Any, body: str, says: str) -> None:
    refusal = dry(run_of(body), dry.tensor("x", [4])).refused
    assert refusal["kind"] == "signature"
    assert says in refusal["message"]


@pytest.mark.parametrize(
    ("part", "offset"),
    [("[0, :5].view(1, 5)", 0), ("[:1, :5].contiguous()", 0), ("[1, 2:7].view(1, 5)", 40)],
)
def test_an_output_that_is_a_part_is_copied(dry: Any, part: str, offset: int) -> None:
    """Padded rows, of which there is one: `contiguous()` makes no copy, and PyTorch needs none."""
    plan = dry(
        run_of(f"out = torch.zeros(2, 8, device='cuda')\nreturn out{part}"), dry.tensor("x", [4])
    ).plan
    assert plan["launches"][-1] == {
        "kind": "copy",
        "buffer": 1,
        "offset": 0,
        "from_buffer": 2,
        "from_offset": offset,
        "bytes": 20,
    }
    assert (plan["buffers"][1]["bytes"], plan["buffers"][1]["strides"]) == (20, [5, 1])


def test_outputs_may_be_parts_of_one_allocation(dry: Any) -> None:
    body = "out = torch.zeros(2, 4, device='cuda')\nreturn out[0], out[1]"
    plan = dry(run_of(body), dry.tensor("x", [4]), outputs=("one", "two")).plan
    assert [(one["from_offset"], one["buffer"]) for one in plan["launches"][1:]] == [
        (0, 1),
        (16, 2),
    ]


def test_outputs_that_share_memory(dry: Any) -> None:
    body = "out = torch.zeros_like(x)\nreturn out, out.view(2, 2)"
    refusal = dry(run_of(body), dry.tensor("x", [4]), outputs=("one", "two")).refused
    assert "'two' shares its memory with output 'one'" in refusal["message"]


def test_several_outputs_of_any_dtype_are_recorded_as_they_are(dry: Any) -> None:
    # Whether they are the right ones is for the audit to say.
    body = "return [torch.zeros(3, dtype=torch.int32, device='cuda'), x.clone()]"
    plan = dry(run_of(body), dry.tensor("x", [4]), outputs=("one", "two")).plan
    assert [(buffer["name"], buffer["dtype"]) for buffer in plan["buffers"][1:]] == [
        ("one", "int32"),
        ("two", "float32"),
    ]


def test_every_plan_is_that_of_a_first_call(dry: Any) -> None:
    source = (
        ADD
        + """
cache = {}

def run(x):
    if "workspace" not in cache:
        cache["workspace"] = torch.zeros(100, device="cuda")
    out = torch.zeros(100, device="cuda")
    add[(1,)](x, cache["workspace"], 100, BLOCK=128)
    add[(1,)](cache["workspace"], out, 100, BLOCK=128)
    return out
"""
    )
    x = dry.tensor("x", [100])
    first, second = dry(source, x, more=[(x,)])
    assert first.plan.kinds == ["memset", "memset", "kernel", "kernel"]
    assert second.plan.document == first.plan.document


def test_memory_that_import_leaves_empty_is_scratch(dry: Any) -> None:
    source = (
        ADD
        + """
workspace = torch.empty(100, device="cuda")

def run(x):
    out = torch.zeros(100, device="cuda")
    workspace.zero_()
    add[(1,)](x, workspace, 100, BLOCK=128)
    add[(1,)](workspace, out, 100, BLOCK=128)
    return out
"""
    )
    x = dry.tensor("x", [100])
    first, second = dry(source, x, more=[(x,)])
    assert first.plan.document == second.plan.document


def test_what_import_fills_is_filled_before_every_call(dry: Any) -> None:
    source = (
        ADD
        + """
unused = torch.ones(100, device="cuda")
locks = torch.zeros(16, dtype=torch.int32, device="cuda")
workspace = torch.full((100,), 2.0, device="cuda")
workspace[50:] = 3.0

def run(x):
    out = torch.zeros(100, device="cuda")
    add[(1,)](x, workspace, 100, BLOCK=128)
    add[(1,)](workspace, out, 100, BLOCK=128)
    if x.shape[0] == 100:
        locks.fill_(1)
    return out
"""
    )
    x, longer = dry.tensor("x", [100]), dry.tensor("x", [200])
    first, second, other = dry(source, x, more=[(x,), (longer,)])
    memsets = [one for one in first.plan["launches"] if one["kind"] == "memset"]
    assert [(one["value"], one["count"]) for one in memsets] == [
        (0, 16),
        (0x40000000, 100),
        (0x40400000, 50),
        (0, 100),
        (1, 16),
    ]
    assert first.plan.kinds == ["memset"] * 4 + ["kernel"] * 2 + ["memset"]
    assert first.plan.document == second.plan.document
    assert other.plan.kinds == ["memset"] * 3 + ["kernel"] * 2
    for made in ("torch.arange(100, device='cuda')", "torch.zeros(100, device='cuda').clone()"):
        refusal = dry(f"made = {made}\n{source}", x).refused
        assert (refusal["kind"], refusal["op"]) == ("unsupported", "launch outside run")
