"""Triton's interpreter as an executor: faithful to kernels, and open about what it cannot do."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch

pytest.importorskip("triton")

HEAD = """
import torch
import triton
import triton.language as tl
"""

DOUBLE = (
    HEAD
    + """
@triton.jit
def double(x_ptr, out_ptr, count, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < count
    tl.store(out_ptr + at, 2.0 * tl.load(x_ptr + at, mask=mask), mask=mask)


def run(x):
    out = torch.empty_like(x)
    double[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out
"""
)

X = torch.arange(100, dtype=torch.float32) - 50


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as one:
        yield one


@pytest.fixture
def judge(pool: ProcessPoolExecutor) -> Any:
    from ouroboros.trace import interpret

    def interpreted(
        source: str,
        inputs: tuple[torch.Tensor, ...] = (X,),
        outputs: tuple[str, ...] = ("out",),
        dtypes: tuple[str, ...] = (),
    ) -> dict[str, Any]:
        request = asked(source, [inputs], outputs)
        # What NumPy has no type for comes as its bits.
        for one, dtype in zip(request["signatures"][0]["inputs"], dtypes, strict=False):
            one["dtype"] = dtype
        (result,) = pool.submit(interpret.run, request).result()
        return result

    return interpreted


def asked(
    source: str, signatures: list[tuple[torch.Tensor, ...]], outputs: tuple[str, ...] = ("out",)
) -> dict[str, Any]:
    return {
        "source": source,
        "name": "candidate.py",
        "entry": "run",
        "signatures": [
            {
                "inputs": [
                    {
                        "name": f"x{i}",
                        "dtype": str(x.dtype).removeprefix("torch."),
                        "shape": list(x.shape),
                        "strides": list(x.stride()),
                    }
                    for i, x in enumerate(inputs)
                ],
                "outputs": list(outputs),
            }
            for inputs in signatures
        ],
        "inputs": [[x.numpy().tobytes() for x in inputs] for inputs in signatures],
    }


def tensor(output: dict[str, Any]) -> torch.Tensor:
    dtype = getattr(torch, output["dtype"])
    return torch.frombuffer(bytearray(output["bytes"]), dtype=dtype).view(output["shape"])


def refusal(result: dict[str, Any]) -> tuple[str, str]:
    assert result["refusal"] is not None, result["outputs"]
    assert result["outputs"] == []
    return result["refusal"]["kind"], result["refusal"]["op"]


def test_an_honest_kernel_is_right(judge: Any) -> None:
    result = judge(DOUBLE)
    assert result["refusal"] is None
    assert result["host_ops"] == []
    assert result["seconds"] > 0
    (out,) = result["outputs"]
    assert (out["dtype"], out["shape"], out["strides"]) == ("float32", [100], [1])
    assert torch.equal(tensor(out), 2 * X)


def test_a_wrong_kernel_gives_its_wrong_values(judge: Any) -> None:
    result = judge(DOUBLE.replace("2.0 *", "3.0 *"))
    assert torch.equal(tensor(result["outputs"][0]), 3 * X)


def test_what_is_not_written_is_poison(judge: Any) -> None:
    result = judge(DOUBLE.replace("triton.cdiv(x.numel(), 64)", "1"))
    out = tensor(result["outputs"][0])
    assert torch.equal(out[:64], 2 * X[:64])
    assert out[64:].isnan().all()


def test_both_ends_of_a_tensor_are_guarded(judge: Any) -> None:
    past = judge(DOUBLE.replace("tl.load(x_ptr + at, mask=mask)", "tl.load(x_ptr + at)"))
    assert refusal(past) == ("out_of_bounds", "load")
    assert "0 bytes past the end" in past["refusal"]["message"]
    before = judge(DOUBLE.replace("x_ptr + at,", "x_ptr - 1 + at,"))
    assert "4 bytes before the start" in before["refusal"]["message"]
    written = judge(DOUBLE.replace("out_ptr + at, 2.0", "out_ptr + 1 + at, 2.0"))
    assert refusal(written) == ("out_of_bounds", "store")


def test_inputs_are_read_only(judge: Any) -> None:
    assert refusal(
        judge(DOUBLE.replace("double[(triton", "out, x = x, out\n    double[(triton"))
    ) == (
        "input_written",
        "store",
    )
    assert refusal(judge(HEAD + "def run(x):\n    return x.zero_()")) == (
        "input_written",
        "aten::zero_",
    )


@pytest.mark.parametrize(
    ("body", "op"),
    [
        ("return x + x", "aten::add.Tensor"),
        ("return torch.softmax(x, -1)", "aten::_softmax"),
        ("return x.half()", "aten::_to_copy"),
        ("return x if x.sum() > 0 else x", "aten::sum"),
        ("return x.cpu().to('cuda')", "aten::_to_copy"),
        ("return torch.from_numpy(x.numpy())", "aten::_to_copy"),
        ("torch.cuda.Stream()", "torch.cuda.Stream"),
        ("torch.cuda.CUDAGraph()", "torch.cuda.CUDAGraph"),
        # Swallowing the refusal does not help.
        (
            "try:\n        x + x\n    except:\n        pass\n    return torch.empty_like(x)",
            "aten::add.Tensor",
        ),
    ],
)
def test_host_operators_on_data_are_refused_by_name(judge: Any, body: str, op: str) -> None:
    result = judge(HEAD + f"def run(x):\n    {body}")
    assert refusal(result) == ("needs_device", op)
    assert result["host_ops"] == ([op] if op.startswith("aten") else [])


def test_host_code_may_allocate_fill_and_look(judge: Any) -> None:
    result = judge(
        HEAD
        + """
def run(x):
    assert x.is_cuda and x.device == torch.device("cuda", 0) and not x.is_cpu
    assert torch.cuda.is_available() and torch.cuda.get_device_capability(x.device) == (9, 0)
    assert torch.cuda.get_device_properties(x.device).multi_processor_count > 0
    out = torch.full((10, 10), 7.0, device="cuda", dtype=x.dtype)
    assert out.device == x.device
    out[2:4].fill_(1)
    out.view(-1)[:2].copy_(x[:2])
    torch.zeros(3, device=x.device).zero_()
    assert torch.arange(3).sum().item() == 3, "tensors of the host are the host's affair"
    print("said")
    return out
"""
    )
    assert result["refusal"] is None, result["refusal"]
    expected = torch.full((10, 10), 7.0)
    expected[2:4] = 1
    expected[0, :2] = X[:2]
    assert torch.equal(tensor(result["outputs"][0]), expected)
    assert result["log"] == "said\n"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("return x", "output_alias"),
        ("return x[:]", "output_alias"),
        ("return torch.zeros(100)", "bad_output"),
        ("return torch.empty_like(x), x", "bad_output"),
        ("return None", "bad_output"),
        ("return torch.nn.Parameter(torch.empty_like(x))", "bad_output"),
        ("raise KeyError('lost')", "exception"),
    ],
)
def test_outputs_that_a_referee_cannot_take(judge: Any, body: str, kind: str) -> None:
    assert refusal(judge(HEAD + f"def run(x):\n    {body}"))[0] == kind


def test_outputs_must_not_share_memory(judge: Any) -> None:
    source = HEAD + "def run(x):\n    out = torch.zeros_like(x)\n    return out, out[:]"
    assert refusal(judge(source, outputs=("one", "other"))) == ("output_alias", "")


def test_a_module_that_does_not_load_refuses_every_signature(pool: ProcessPoolExecutor) -> None:
    from ouroboros.trace import interpret

    request = asked("import nothing_of_that_name", [(X,), (X,)])
    results = pool.submit(interpret.run, request).result()
    assert [refusal(one)[0] for one in results] == ["load_error", "load_error"]
    assert "nothing_of_that_name" in results[0]["refusal"]["message"]
    (missing,) = pool.submit(interpret.run, asked(HEAD, [(X,)])).result()
    assert "no function 'run'" in missing["refusal"]["message"]


def test_one_refusal_does_not_spoil_the_next_signature(pool: ProcessPoolExecutor) -> None:
    from ouroboros.trace import interpret

    source = DOUBLE.replace("out = torch", "assert x.numel() == 100\n    out = torch")
    results = pool.submit(interpret.run, asked(source, [(X[:9],), (X,)])).result()
    assert results[0]["refusal"]["kind"] == "exception"
    assert "line " in results[0]["refusal"]["traceback"]
    assert torch.equal(tensor(results[1]["outputs"][0]), 2 * X)


def test_inputs_may_come_from_a_file(pool: ProcessPoolExecutor, tmp_path: Path) -> None:
    from ouroboros.trace import interpret

    request = asked(DOUBLE.replace("run(x)", "run(_, x)"), [(X[:7], X)])
    file = tmp_path / "inputs"
    file.write_bytes(b"".join(request["inputs"][0]))
    request["inputs"] = [str(file)]
    request["scratch"] = str(tmp_path)
    (result,) = pool.submit(interpret.run, request).result()
    assert torch.equal(tensor(result["outputs"][0]), 2 * X)


def test_autotuning_takes_the_first_configuration(judge: Any) -> None:
    configs = "[triton.Config({'BLOCK': n}) for n in (16, 32, 64)]"
    source = DOUBLE.replace(
        "@triton.jit", f"@triton.autotune(configs={configs}, key=['count'])\n@triton.jit"
    )
    source = source.replace(", BLOCK=64)", ")").replace(
        "(triton.cdiv(x.numel(), 64),)", "lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)"
    )
    result = judge(
        source.replace("    return out", "    print(double.best_config.kwargs)\n    return out")
    )
    assert result["log"] == "{'BLOCK': 16}\n"
    assert torch.equal(tensor(result["outputs"][0]), 2 * X)


def test_bfloat16_is_rounded_to_nearest(judge: Any) -> None:
    """The interpreter truncates by itself."""
    x = torch.tensor([1.0039, 1.00390625, 1.01171875, -3.99999, 3.4e38, torch.inf, torch.nan, 0.0])
    source = DOUBLE.replace("2.0 *", "").replace(
        "empty_like(x)", "empty_like(x, dtype=torch.bfloat16)"
    )
    out = tensor(judge(source, (x,))["outputs"][0])
    assert torch.equal(out.nan_to_num(7.0), x.to(torch.bfloat16).nan_to_num(7.0))


def test_bfloat16_is_computed_with(judge: Any) -> None:
    """The interpreter by itself adds, compares and multiplies the bits."""
    source = (
        HEAD
        + """
@triton.jit
def larger(a, b):
    return tl.maximum(a, b)


@triton.jit
def kernel(x_ptr, sum_ptr, low_ptr, dot_ptr, top_ptr, scan_ptr, all_ptr, N: tl.constexpr):
    at = tl.arange(0, N)
    x = tl.load(x_ptr + at)
    tl.store(sum_ptr + at, x + 3.0 * x)
    tl.store(low_ptr + at, tl.where(x < 0, -x, x * (1 + at % 2)))
    square = tl.reshape(x, (16, 16))
    tl.store(dot_ptr + at, tl.reshape(tl.dot(square, square), (N,)))
    tl.store(top_ptr, tl.argmax(x, axis=0))
    tl.store(top_ptr + 1, tl.reduce(x, 0, larger).to(tl.int32))
    tl.store(scan_ptr + at, tl.associative_scan(x, 0, larger))
    tl.atomic_add(all_ptr + at % 2, x)


def run(x):
    outs = [torch.empty_like(x) for _ in range(3)]
    top = torch.empty(2, dtype=torch.int32, device="cuda")
    scan, total = torch.empty_like(x), torch.zeros(2, dtype=x.dtype, device="cuda")
    kernel[(1,)](x, *outs, top, scan, total, N=256)
    return *outs, top, scan, total
"""
    )
    # Small integers, whose sums and products are exact.
    x = ((torch.arange(256) * 37) % 8 - 4).to(torch.bfloat16)
    result = judge(source, (x.view(torch.int16),), tuple("abcdef"), ("bfloat16",))
    assert result["refusal"] is None, result["refusal"]
    added, chosen, product, top, scan, total = map(tensor, result["outputs"])
    wide = x.float()
    assert torch.equal(added.float(), 4 * wide)
    even_odd = wide * (1 + torch.arange(256) % 2)
    assert torch.equal(chosen.float(), torch.where(wide < 0, -wide, even_odd))
    square = wide.view(16, 16)
    assert torch.equal(product.float().view(16, 16), (square @ square).bfloat16().float())
    assert top.tolist() == [int(wide.argmax()), int(wide.max())]
    assert torch.equal(scan.float(), wide.cummax(0).values)
    assert total.tolist() == [wide[0::2].sum(), wide[1::2].sum()]


def test_own_reductions_keep_the_order_of_what_they_join(judge: Any) -> None:
    """An affine map composed with another is associative, and not commutative."""
    source = (
        HEAD
        + """
@triton.jit
def after(a1, b1, a2, b2):
    return a1 * a2, b1 * a2 + b2


@triton.jit
def kernel(x_ptr, scan_ptr, last_ptr, back_ptr, N: tl.constexpr):
    at = tl.arange(0, 2)[:, None] * N + tl.arange(0, N)[None, :]
    x = tl.load(x_ptr + at)
    scale = tl.full((2, N), 0.5, tl.float32)
    tl.store(scan_ptr + at, tl.associative_scan((scale, x), 1, after)[1])
    tl.store(last_ptr + tl.arange(0, 2), tl.reduce((scale, x), 1, after)[1])
    tl.store(back_ptr + at, tl.associative_scan((scale, x), 1, after, reverse=True)[1])


def run(x):
    scan, back = torch.empty_like(x), torch.empty_like(x)
    last = torch.empty(2, device="cuda")
    kernel[(1,)](x, scan, last, back, N=x.shape[1])
    return scan, last, back
"""
    )
    x = torch.arange(64, dtype=torch.float32).view(2, 32) % 7
    result = judge(source, (x,), ("scan", "last", "back"))
    assert result["refusal"] is None, result["refusal"]

    def folded(values: torch.Tensor) -> torch.Tensor:
        columns = [values[:, 0]]
        for column in values.unbind(1)[1:]:
            columns.append(columns[-1] * 0.5 + column)
        return torch.stack(columns, 1)

    scan, last, back = map(tensor, result["outputs"])
    assert torch.allclose(scan, folded(x))
    assert torch.allclose(last, folded(x)[:, -1])
    assert torch.allclose(back, folded(x.flip(1)).flip(1))


@pytest.mark.parametrize(
    ("call", "truth"),
    [
        ("libdevice.div_rn(x, 3.0)", X / 3),
        ("libdevice.round(x * 0.5)", X.sign() * ((X.abs() + 1) // 2)),
        ("libdevice.rint(x * 0.5)", (X / 2).round()),
        ("libdevice.fma(x, x, 1.0)", X * X + 1),
        ("libdevice.atan2(x, 2.0)", torch.atan2(X, torch.tensor(2.0))),
        ("libdevice.erfc(x * 0.01)", torch.erfc(X * 0.01)),
        ("libdevice.isnan(x).to(tl.float32)", torch.zeros(100)),
    ],
)
def test_functions_of_libdevice_give_what_torch_gives(
    judge: Any, call: str, truth: torch.Tensor
) -> None:
    source = DOUBLE.replace(
        "import triton\n", "import triton\nfrom triton.language.extra import libdevice\n", 1
    ).replace("2.0 * tl.load(x_ptr + at, mask=mask)", "f(tl.load(x_ptr + at, mask=mask))")
    source = source.replace(
        "@triton.jit", f"@triton.jit\ndef f(x):\n    return {call}\n\n\n@triton.jit", 1
    )
    result = judge(source)
    assert result["refusal"] is None, result["refusal"]
    assert torch.allclose(tensor(result["outputs"][0]), truth, rtol=1e-6)


def test_functions_of_libdevice_are_known_or_named(judge: Any) -> None:
    source = DOUBLE.replace(
        "import triton\n", "import triton\nfrom triton.language.extra import libdevice\n", 1
    )
    known = judge(
        source.replace(
            "2.0 * tl.load(x_ptr + at, mask=mask)", "libdevice.tanh(tl.load(x_ptr + at, mask=mask))"
        )
    )
    assert known["refusal"] is None, known["refusal"]
    assert torch.allclose(tensor(known["outputs"][0]), X.tanh())
    unknown = judge(
        source.replace(
            "2.0 * tl.load(x_ptr + at, mask=mask)", "libdevice.j0(tl.load(x_ptr + at, mask=mask))"
        )
    )
    assert refusal(unknown) == ("unsupported", "__nv_j0f")


def test_inline_assembly_is_named(judge: Any) -> None:
    x = "[tl.load(x_ptr + at, mask=mask)]"
    assembly = f"tl.inline_asm_elementwise('neg.f32 $0, $1;', '=f,f', {x}, tl.float32, True, 1)"
    result = judge(DOUBLE.replace("2.0 * tl.load(x_ptr + at, mask=mask)", assembly))
    assert refusal(result) == ("unsupported", "inline_asm")


def test_the_process_is_left_as_it_was() -> None:
    import triton
    import triton.language as tl
    from ouroboros.trace import interpret

    before = (tl.sum, tl.load, tl.reduce, torch.cuda.is_available)
    interpret.run(asked(DOUBLE, [(X,)]))
    assert before == (tl.sum, tl.load, tl.reduce, torch.cuda.is_available)
    assert triton.knobs.runtime.interpret is False
