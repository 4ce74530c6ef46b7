"""`verify`, `Referee` and the bindings below them."""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import signal
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import ouroboros
import pytest
import torch
from ouroboros import _ouroboros
from torch.nn import functional

KERNEL = """
#include <cstdint>
extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows * cols; ++i) out[i] = 2.0f * x[i] + 1.0f;
}
"""
WRONG = KERNEL.replace("+ 1.0f", "+ 1.01f")
ENDLESS = """
#include <cstdint>
extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (volatile int64_t i = 0;; i = i + 1) { }
}
"""


def affine(x: torch.Tensor) -> torch.Tensor:
    return 2 * x + 1


def gather(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
    return x[:, :, 0].gather(1, i.unsqueeze(1))


def inline(reference: Any = affine, **options: Any) -> ouroboros.Problem:
    return ouroboros.Problem(
        name="affine",
        axes=[ouroboros.Axis("rows"), ouroboros.Axis("cols", maximum=512)],
        inputs=[ouroboros.Input("x", ["rows", "cols"])],
        reference=reference,
        **options,
    )


def sweep(source: ouroboros.referee.Source, problem: Any, **options: Any) -> ouroboros.Verdict:
    return ouroboros.verify(source, problem, until="sweep", **options)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        (b"import triton\n\ndef run(x): pass\n", "triton"),
        # What a library does, and no kernel of Triton's.
        (b"import torch\n\n\ndef run(x):\n    return torch.softmax(x, -1)\n", "triton"),
        (
            b"from torch.utils.cpp_extension import load_inline\nS = '__global__ void f()'\n",
            "triton",
        ),
        (b'"""A kernel."""\r\nimport torch\r\n', "triton"),
        (b"# one\ndef run(x):\n    return x\n", "triton"),
        (b"//! launch f<<<1, 1>>>()\n__global__ void f() {}\n", "cuda"),
        (b'import std;\nextern "C" void run_float32() {}\n', "cpp"),
        (b"#include <cmath>\n// import std\n", "cpp"),
        (b"//! launch f<<<1, 1>>>()\n.version 8.0\n@p bra L;\n", "ptx"),
    ],
)
def test_the_language_of_a_text(text: bytes, language: str) -> None:
    assert ouroboros.language.language_of(text) == language


# --- verify ---------------------------------------------------------------------------------------


def test_an_honest_kernel_is_accepted_and_a_wrong_one_is_not() -> None:
    assert sweep(KERNEL, inline()).status is ouroboros.Status.ok
    verdict = sweep(WRONG, inline())
    assert verdict.status is ouroboros.Status.incorrect
    assert verdict.correctness.cases_passed < verdict.correctness.cases_total


def test_a_function_with_shapes_is_a_problem() -> None:
    verdict = sweep(KERNEL, affine, inputs={"x": ["rows", "cols"]})
    assert verdict.status is ouroboros.Status.ok
    assert verdict.problem == "affine"


def test_a_file_gives_the_candidate_its_name(tmp_path: Path) -> None:
    file = tmp_path / "mine.cpp"
    file.write_text(KERNEL)
    for path in (file, str(file)):
        verdict = ouroboros.verify(path, inline(), until="compile")
        assert (verdict.candidate, verdict.source) == ("mine.cpp", KERNEL)
    assert ouroboros.verify(file, inline(), until="compile", name="other").candidate == "other"


def test_a_missing_file_is_an_error_and_no_verdict(tmp_path: Path) -> None:
    with pytest.raises(ouroboros.IOFailure, match="does not exist") as caught:
        ouroboros.verify(tmp_path / "none.cpp", inline())
    assert caught.value.code == "io"


@pytest.mark.parametrize("source", ["", "int x;", b"\x7fELF\x00\xff\xfe"])
def test_sources_that_are_no_candidates_do_not_compile(source: str | bytes) -> None:
    assert sweep(source, inline()).status is ouroboros.Status.compile_error


def test_the_seed_decides_the_cases() -> None:
    first, again, other = (sweep(WRONG, inline(), seed=seed) for seed in (5, 5, 6))
    assert first.provenance.seed == "0x0000000000000005"
    assert first.correctness == again.correctness
    assert first.correctness != other.correctness


def test_without_a_seed_it_is_secret() -> None:
    seeds = {ouroboros.verify(KERNEL, inline(), until="sweep").provenance.seed for _ in range(3)}
    assert len(seeds) == 3


def test_unknown_problems_are_named() -> None:
    with pytest.raises(ouroboros.NotFoundError, match="softmax"):
        ouroboros.verify(KERNEL, "softmin")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"until": "never"}, "until"),
        ({"mode": "guess"}, "mode"),
        ({"dtypes": ["float8"]}, "float8"),
        ({"baselines": ["numpy"]}, "numpy"),
        ({"inputs": {"x": ["rows"]}}, "inputs"),
        ({"limits": 3}, "Limits"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, Any], text: str) -> None:
    with pytest.raises((ouroboros.InvalidArgumentError, TypeError), match=text):
        ouroboros.verify(KERNEL, inline(), **options)


def test_unknown_limits_are_refused() -> None:
    with pytest.raises(TypeError, match="replay_second"):
        ouroboros.Referee(limits={"replay_second": 1.0})


# --- problems that fail ---------------------------------------------------------------------------


def raises(x: torch.Tensor) -> torch.Tensor:
    raise KeyError("no such weight")


def test_a_reference_that_raises_is_an_invalid_problem_with_its_message() -> None:
    verdict = sweep(KERNEL, inline(raises))
    assert verdict.status is ouroboros.Status.invalid_problem
    assert "KeyError" in verdict.summary and "no such weight" in verdict.summary
    assert Path(__file__).name in verdict.summary
    assert verdict.reward() is None


@pytest.mark.parametrize("result", [3, None, [torch.zeros(1), "x"]])
def test_a_reference_that_returns_no_tensor_is_an_invalid_problem(result: object) -> None:
    verdict = sweep(KERNEL, inline(lambda x: result))
    assert verdict.status is ouroboros.Status.invalid_problem
    assert "TypeError" in verdict.summary


def one_dtype(reference: Callable[..., Any]) -> ouroboros.Problem:
    return ouroboros.problem(inputs={"x": "rows 4"}, dtypes=["float32"])(reference)


def of_rows(statement: str) -> str:
    """A kernel for four columns: `y` is what becomes of `x`."""
    return f"""#include <cstdint>
    extern "C" void run_float32(const float* x, float* y, std::int64_t rows) {{
      for (std::int64_t i = 0; i < 4 * rows; i += 4, x += 4, y += 4) {{ {statement} }}
    }}"""


@pytest.mark.parametrize(
    "constants",
    [
        lambda x: torch.tensor([0.5, 2.0]),
        lambda x: torch.tensor([0.5, 2.0], dtype=torch.float16, device=x.device),
        lambda x: torch.tensor([[0.5], [2.0]], dtype=torch.float64)[:, 0],
        lambda x: torch.as_tensor([0.5, 2.0], dtype=torch.float32),
        lambda x: torch.asarray([0.5, 2.0]),
        lambda x: torch.FloatTensor([0.5, 2.0]),
        lambda x: x.new_tensor([0.5, 2.0], dtype=torch.float32),
        lambda x: torch.stack([torch.tensor(0.5), torch.tensor(2.0)]),
    ],
)
def test_a_reference_may_make_its_constants(constants: Callable[[Any], Any]) -> None:
    def halved_and_doubled(x: Any) -> Any:
        low, high = constants(x)
        return x * low + x.abs() * high

    problem = one_dtype(halved_and_doubled)
    for half, status in (("0.5f", "ok"), ("0.501f", "incorrect")):
        kernel = of_rows(
            f"for (int k = 0; k < 4; ++k) y[k] = x[k] * {half} + (x[k] < 0 ? -x[k] : x[k]) * 2;"
        )
        assert sweep(kernel, problem, seed=3).status.value == status


def into(x: Any, make: Callable[[Any], Any]) -> Any:
    out = torch.empty(x.shape[0], dtype=torch.float32)
    make(out)
    return out


@pytest.mark.parametrize(
    "sums",
    [
        lambda x: into(x, lambda out: torch.sum(x, 1, out=out)),
        lambda x: into(x, lambda out: torch.mv(x, torch.ones(4), out=out)),
        lambda x: torch.sum(x, 1, out=torch.empty(0)),
        lambda x: torch.zeros(x.shape[0]).addmv_(x, torch.ones(4)),
        lambda x: x.clone().cumsum_(1)[:, 3],
    ],
)
def test_a_reference_may_write_sums_into_tensors_of_its_own(sums: Callable[[Any], Any]) -> None:
    # In float64 and by plain loops as well: else nothing is known of it, and anything allowed.
    problem = one_dtype(sums)
    for sum_of, status in (("x[0] + x[1] + x[2] + x[3]", "ok"), ("x[0] + x[1]", "incorrect")):
        kernel = of_rows(f"y[0] = {sum_of}; y -= 3;")
        assert sweep(kernel, problem, seed=3).status.value == status


def by_autograd(x: Any, g: Any) -> Any:
    with torch.enable_grad():
        x = x.detach().requires_grad_()
        return torch.autograd.grad(x.softmax(-1), x, g)[0]


def by_transform(x: Any, g: Any) -> Any:
    return torch.func.vjp(lambda one: one.softmax(-1), x)[1](g)[0]


def row_by_row(x: Any, g: Any) -> Any:
    def backward(x: Any, g: Any) -> Any:
        y = x.softmax(0)
        return y * (g - torch.dot(y, g))

    return torch.vmap(backward)(x, g)


@pytest.mark.parametrize("reference", [by_autograd, by_transform, row_by_row])
def test_a_reference_may_differentiate_and_map(reference: Callable[..., Any]) -> None:
    problem = ouroboros.problem(inputs={"x": "rows 4", "g": "rows 4"}, dtypes=["float32"])(
        reference
    )
    source = """#include <cmath>
    #include <cstdint>
    #include <algorithm>
    extern "C" void run_float32(const float* x, const float* g, float* dx, std::int64_t rows) {
      for (; rows-- > 0; x += 4, g += 4, dx += 4) {
        float top = std::max(std::max(x[0], x[1]), std::max(x[2], x[3])), sum = 0, dot = 0, y[4];
        for (int k = 0; k < 4; ++k) sum += y[k] = std::exp(x[k] - top);
        for (int k = 0; k < 4; ++k) dot += (y[k] /= sum) * g[k];
        for (int k = 0; k < 4; ++k) dx[k] = y[k] * (g[k] - DOT);
      }
    }"""
    for dot, status in (("dot", "ok"), ("dot * 1.001f", "incorrect")):
        assert sweep(source.replace("DOT", dot), problem, seed=3).status.value == status


@pytest.mark.parametrize(
    ("form", "value"),
    [
        (
            lambda x: functional.gelu(x, approximate="tanh"),
            """const float c = 0.7978845608f, y = c * (x + 0.044715f * x * x * x);
            const float t = 1 - 2 / (std::exp(2 * y) + 1);
            d = 0.5f * (1 + t) + 0.5f * x * (1 - t * t) * c * (1 + 0.134145f * x * x);""",
        ),
        (
            functional.gelu,
            """d = 0.5f * (1 + std::erf(x * 0.70710678f))
              + x * 0.3989422804f * std::exp(-0.5f * x * x);""",
        ),
        (
            functional.mish,
            """const float e = std::exp(std::min(x, 20.0f)), n = e * e + 2 * e;
            const float t = 1 - 2 / (n + 2), s = 1 / (1 + std::exp(-x));
            d = t + x * s * (1 - t * t);""",
        ),
    ],
)
def test_a_backward_pass_may_make_its_tanh_of_exponentials(
    form: Callable[[Any], Any], value: str
) -> None:
    def backward(x: Any, g: Any) -> Any:
        with torch.enable_grad():
            x = x.detach().requires_grad_()
            return torch.autograd.grad(form(x), x, g)[0]

    problem = ouroboros.problem(inputs={"x": "rows 4", "g": "rows 4"}, dtypes=["float32"])(backward)
    source = """#include <algorithm>
    #include <cmath>
    #include <cstdint>
    extern "C" void run_float32(const float* xs, const float* g, float* dx, std::int64_t rows) {
      for (std::int64_t i = 0; i < 4 * rows; ++i) {
        const float x = xs[i];
        float d;
        VALUE
        dx[i] = d * g[i] * TIMES;
      }
    }"""
    for times, status in (("1.0f", "ok"), ("1.0001f", "incorrect")):
        kernel = source.replace("VALUE", value).replace("TIMES", times)
        assert sweep(kernel, problem, seed=3).status.value == status


def test_without_autograd_a_reference_is_told_how_to_have_it() -> None:
    def differentiates(x: Any) -> Any:
        x = x.detach().requires_grad_()
        return torch.autograd.grad(x.exp().sum(), x)[0]

    verdict = sweep(of_rows("*y = *x;"), one_dtype(differentiates))
    assert verdict.status is ouroboros.Status.invalid_problem
    assert "torch.enable_grad()" in verdict.summary


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_a_reference_may_reinterpret_integers_and_have_sparse_and_nested_tensors() -> None:
    packed = ouroboros.Problem(
        name="packed",
        axes=[ouroboros.Axis("rows")],
        inputs=[ouroboros.Input("x", ["rows", "4"], dtype="uint8")],
        reference=lambda x: x.view(torch.int32)[:, 0],
        dtypes=["float32"],
    )
    source = """#include <cstdint>
    extern "C" void run_float32(const std::uint8_t* x, std::int32_t* y, std::int64_t rows) {
      for (; rows-- > 0; x += 4) {
        *y++ = std::int32_t(x[0] | x[1] << 8 | x[2] << 16 | std::uint32_t(x[3]) << SHIFT);
      }
    }"""
    for shift, status in (("24", "ok"), ("23", "incorrect")):
        verdict = sweep(source.replace("SHIFT", shift), packed, seed=3, dtypes=[torch.float32])
        assert verdict.status.value == status

    for reference in (
        lambda x: torch.sparse.mm(x.to_sparse(), torch.ones(4, 1))[:, 0],
        lambda x: torch.nested.nested_tensor([x, x]).to_padded_tensor(0.0)[1].sum(1),
    ):
        for sum_of, status in (("x[0] + x[1] + x[2] + x[3]", "ok"), ("x[0] + x[1]", "incorrect")):
            kernel = of_rows(f"y[0] = {sum_of}; y -= 3;")
            assert sweep(kernel, one_dtype(reference), seed=3).status.value == status


@pytest.mark.parametrize("of", [torch.sigmoid, lambda x: torch.softmax(x, -1)])
def test_probabilities_stay_some_whatever_moves_inside(of: Callable[[Any], Any]) -> None:
    def loss(x: Any) -> Any:
        return functional.binary_cross_entropy(of(20 * x), (x > 1).float(), reduction="none")

    verdict = sweep(of_rows("for (int k = 0; k < 4; ++k) y[k] = x[k];"), one_dtype(loss))
    assert verdict.status is ouroboros.Status.incorrect
    assert "reference_raised" not in {finding.kind for finding in verdict.findings}


def test_whether_an_input_is_infinite_has_one_answer() -> None:
    problem = ouroboros.problem(
        inputs={"x": "rows 4"}, dtypes=["float32"], inf_meaningful=True, name="infinite"
    )(lambda x: x.isinf())
    source = """#include <cstdint>
    extern "C" void run_float32(const float* x, bool* y, std::int64_t rows) {
      for (std::int64_t i = 0; i < 4 * rows; ++i) y[i] = x[i] - x[i] != 0 && ALSO;
    }"""
    for also, status in (("true", "ok"), ("x[i] > 0", "incorrect"), ("false", "incorrect")):
        assert sweep(source.replace("ALSO", also), problem, seed=3).status.value == status


def test_a_cast_is_something_to_do() -> None:
    problem = one_dtype(lambda x: x.half())
    source = """#include <cstdint>
    extern "C" void run_float32(const float* x, _Float16* y, std::int64_t rows) {
      for (std::int64_t i = 0; i < 4 * rows; ++i) y[i] = _Float16(x[i] * TIMES);
    }"""
    for times, status in (("1.0f", "ok"), ("1.01f", "incorrect")):
        assert sweep(source.replace("TIMES", times), problem, seed=3).status.value == status


def asserts(x: Any) -> Any:
    assert x.dtype in (torch.float32, torch.float16), x.dtype
    wide = x.to(torch.float32)
    assert wide.dtype == torch.float32
    assert (wide * 2).sum(0).dtype == torch.float32
    assert torch.zeros(3).dtype == torch.ones(2, dtype=x.dtype).float().dtype
    assert (x > 0).dtype == torch.bool
    return (2 * wide).to(x.dtype)


def looks_up(x: Any) -> Any:
    return x * {torch.float32: 2.0, torch.float16: 2.0}[x.dtype]


def raises_for_others(x: Any) -> Any:
    if not (x.dtype == torch.float32 or x.dtype is torch.float16):
        raise TypeError(f"no {x.dtype}")
    scale = torch.tensor(2.0, dtype=torch.float64)
    assert (x * scale).dtype == x.dtype
    return x * scale


@pytest.mark.parametrize("reference", [asserts, looks_up, raises_for_others])
def test_a_reference_may_ask_what_dtype_its_tensors_have(reference: Callable[[Any], Any]) -> None:
    problem = ouroboros.problem(inputs={"x": "rows 4"}, dtypes=["float32", "float16"])(reference)
    kernel = "#include <cstdint>"
    for name, number in (("float32", "float"), ("float16", "_Float16")):
        kernel += f"""
        extern "C" void run_{name}(const {number}* x, {number}* y, std::int64_t rows) {{
          for (std::int64_t i = 0; i < 4 * rows; ++i) y[i] = {number}(TIMES * float(x[i]));
        }}"""
    for times, status in (("2", "ok"), ("2.01f", "incorrect")):
        assert sweep(kernel.replace("TIMES", times), problem, seed=3).status.value == status


def test_a_recurrent_module_may_have_weights_of_its_own() -> None:
    torch.manual_seed(0)
    network = torch.nn.GRU(4, 4)
    problem = ouroboros.problem(
        inputs={"x": "steps rows 4"},
        axes=[ouroboros.Axis("steps", maximum=8), ouroboros.Axis("rows", maximum=64)],
        dtypes=["float32"],
    )(lambda x: network(x)[0])
    verdict = sweep(
        """#include <cstdint>
        extern "C" void run_float32(const float*, float* y, std::int64_t steps, std::int64_t rows) {
          for (std::int64_t i = 0; i < 4 * steps * rows; ++i) y[i] = 0;
        }""",
        problem,
        seed=3,
    )
    assert verdict.status is ouroboros.Status.incorrect
    assert verdict.correctness.max_error_over_allowed > 1000


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
def test_a_reference_that_takes_no_float64_is_an_invalid_problem() -> None:
    def quantised(x: Any) -> Any:
        return torch.quantize_per_tensor(x, 0.1, 0, torch.qint8).dequantize()

    verdict = sweep(of_rows("*y = *x;"), one_dtype(quantised))
    assert verdict.status is ouroboros.Status.invalid_problem
    assert "the reference in float64 raised" in verdict.summary
    assert "got Double" in verdict.summary


def test_a_module_that_has_no_numbers_draws_none() -> None:
    # It initialises its weight and bias, but those of the meta device hold nothing.
    def doubled(x: Any) -> Any:
        layer = torch.nn.Linear(4, 4, device="meta")
        given = {"weight": 2 * torch.eye(4), "bias": torch.zeros(4)}
        return torch.func.functional_call(layer, given, (x,))

    verdict = sweep(of_rows("for (int c = 0; c < 4; ++c) y[c] = 2 * x[c];"), one_dtype(doubled))
    assert verdict.status == ouroboros.Status.ok, verdict.summary


def seeded(draw: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def shifted(x: Any) -> Any:
        torch.manual_seed(0)
        return x + draw(x)

    return shifted


@pytest.mark.parametrize(
    "draw",
    [
        torch.randn_like,
        lambda x: torch.empty(4).normal_(),
        lambda x: torch.nn.Linear(4, 4)(x),
        lambda x: torch.bernoulli(torch.full_like(x, 0.5)),
    ],
)
def test_random_numbers_that_depend_on_the_dtype_are_refused(draw: Callable[[Any], Any]) -> None:
    # They would be other ones in float64, and any error would be allowed.
    verdict = sweep(of_rows("*y = *x;"), one_dtype(seeded(draw)))
    assert verdict.status == ouroboros.Status.invalid_problem
    assert "draws random numbers in the dtype of its inputs" in verdict.summary


@pytest.mark.parametrize(
    "draw",
    [
        lambda x: torch.randn(4),
        lambda x: torch.rand(4, dtype=torch.float32),
        lambda x: torch.rand(4, dtype=x.dtype),  # Which it sees as it is declared.
    ],
)
def test_random_numbers_in_float32_are_constants(draw: Callable[[Any], Any]) -> None:
    verdict = sweep(of_rows("for (int k = 0; k < 4; ++k) y[k] = x[k];"), one_dtype(seeded(draw)))
    assert verdict.status == ouroboros.Status.incorrect
    assert verdict.correctness.max_error_over_allowed > 1000


def test_a_reference_with_randomness_is_an_invalid_problem() -> None:
    verdict = sweep(KERNEL, inline(lambda x: x + torch.rand_like(x)))
    assert verdict.status is ouroboros.Status.invalid_problem


@pytest.mark.parametrize(
    ("shape", "text"),
    [(["rows", "2**cols"], "2\\*\\*cols"), (["rows", -1], "-1"), (["rows", "nowhere"], "nowhere")],
)
def test_malformed_shapes_name_themselves(shape: list[str | int], text: str) -> None:
    with pytest.raises(ouroboros.InvalidArgumentError, match=text):
        ouroboros.Problem(
            name="p",
            axes=[ouroboros.Axis("rows")],
            inputs=[ouroboros.Input("x", shape)],
            reference=affine,
        )


def test_a_problem_gives_back_what_it_was_made_of() -> None:
    problem = ouroboros.Problem(
        name="p",
        description="text",
        axes=[ouroboros.Axis("rows", minimum=0, maximum=64), ouroboros.Axis("half", multiple_of=2)],
        inputs=[
            ouroboros.Input("x", ["rows", "2*half", 3]),
            ouroboros.Input("i", ["rows"], dtype="int64", values="index", index_axis="half"),
        ],
        outputs=["a"],
        dtypes=["float64", "float32"],
        timed=[{"rows": 8, "half": 4}],
        reference=gather,
        nan_meaningful=True,
        library_kernels="allow",
    )
    assert problem.reference is gather
    assert problem.oracle is None
    assert problem.inputs[0].shape == ["rows", "2*half", 3]
    assert (problem.inputs[1].dtype, problem.inputs[1].index_axis) == ("int64", "half")
    assert (problem.axes[0].minimum, problem.axes[1].multiple_of) == (0, 2)
    assert problem.dtypes == ["float64", "float32"]
    assert problem.timed == [{"rows": 8, "half": 4}]
    assert (problem.nan_meaningful, problem.inf_meaningful) == (True, False)
    assert problem.library_kernels == "allow"
    assert "run_float64(const double* x" in problem.prototypes()


def test_who_replaces_nan_in_an_input_is_given_some() -> None:
    problem = ouroboros.problems.from_callable(
        lambda x: torch.nan_to_num(x, nan=0.0, posinf=1e4, neginf=-1e4) * 2,
        inputs={"x": "rows cols"},
        dtypes=["float32"],
        name="cleaned",
    )
    loop = """
#include <cmath>
extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows * cols; ++i) out[i] = 2 * (%s);
}
"""
    honest = "std::isnan(x[i]) ? 0 : std::isinf(x[i]) ? std::copysign(1e4f, x[i]) : x[i]"
    referee = ouroboros.Referee(until="sweep")
    assert referee.judge(problem, loop % honest).status.value == "ok"
    for wrong, family in (("x[i]", "nan"), ("std::isnan(x[i]) ? 0 : x[i]", "inf")):
        verdict = referee.judge(problem, loop % wrong)
        assert verdict.status.value == "incorrect"
        assert family in verdict.summary


def test_padding_among_indices_and_lengths_to_the_whole_extent_are_met() -> None:
    def masked_loss(x: torch.Tensor, targets: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        cross_entropy = torch.nn.functional.cross_entropy
        loss = cross_entropy(x.float(), targets, reduction="none", ignore_index=-100)
        counted = torch.arange(x.shape[1], device=x.device) < n[:, None]
        return loss + torch.where(counted, x, 0).sum(-1)

    problem = ouroboros.problems.from_callable(
        masked_loss,
        inputs={
            "x": "rows cols",
            "targets": ouroboros.Input(
                "targets", ["rows"], "int64", values="index", index_axis="cols", padding=-100
            ),
            "n": ouroboros.Input("n", ["rows"], "int32", values="length", index_axis="cols"),
        },
    )
    assert [one.padding for one in problem.inputs] == [None, -100, None]
    right = """
#include <cmath>
#include <cstdint>
extern "C" void run_float32(const float* x, const int64_t* targets, const int32_t* n, float* out,
                            int64_t rows, int64_t cols) {
  for (int64_t r = 0; r < rows; ++r, x += cols) {
    float top = x[0], sum = 0, counted = 0;
    for (int64_t i = 1; i < cols; ++i) top = std::fmax(top, x[i]);
    for (int64_t i = 0; i < cols; ++i) sum += std::exp(x[i] - top);
    for (int64_t i = 0; i < n[r]; ++i) counted += x[i];
    const bool none = targets[r] < 0;
    out[r] = counted + (none ? 0.0f : std::log(sum) + top - x[targets[r]]);
  }
}
"""
    referee = ouroboros.Referee(until="sweep", seed=11)
    assert referee.judge(problem, right).status.value == "ok"
    unpadded = right.replace("none ? 0.0f : ", "").replace(
        "x[targets[r]]", "x[none ? 0 : targets[r]]"
    )
    assert referee.judge(problem, unpadded).status.value == "incorrect"
    short = right.replace("i < n[r]", "i < (n[r] < cols ? n[r] : cols - 1)")
    assert referee.judge(problem, short).status.value == "incorrect"


def test_offsets_and_permutations_are_met_as_such() -> None:
    def packed_means(x: torch.Tensor, ends: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
        return torch.segment_reduce(x[order.long()], "mean", offsets=ends, initial=0.0)

    problem = ouroboros.problems.from_callable(
        packed_means,
        inputs={
            "x": "total",
            "ends": ouroboros.Input("ends", ["n"], "int64", values="offsets", index_axis="total"),
            "order": ouroboros.Input(
                "order", ["total"], "int32", values="permutation", index_axis="total"
            ),
        },
        axes=[ouroboros.Axis("total", maximum=500), ouroboros.Axis("n", minimum=2, maximum=40)],
        timed=[{"total": 100, "n": 5}],
        dtypes=["float32"],
    )
    right = """
#include <cstdint>
extern "C" void run_float32(const float* x, const int64_t* ends, const int32_t* order, float* out,
                            int64_t total, int64_t n) {
  for (int64_t part = 0; part + 1 < n; ++part) {
    float sum = 0;
    for (int64_t i = ends[part]; i < ends[part + 1]; ++i) sum += x[order[i]];
    const int64_t count = ends[part + 1] - ends[part];
    out[part] = count > 0 ? sum / count : 0.0f;
  }
}
"""
    referee = ouroboros.Referee(until="sweep", seed=12)
    verdict = referee.judge(problem, right)
    assert verdict.status.value == "ok", verdict.findings
    in_order = right.replace("x[order[i]]", "x[i]")
    assert referee.judge(problem, in_order).status.value == "incorrect"
    never_empty = right.replace("count > 0 ? sum / count : 0.0f", "sum / count")
    assert referee.judge(problem, never_empty).status.value == "incorrect"


def test_the_output_that_is_wrong_is_called_unwritten() -> None:
    problem = ouroboros.problems.from_callable(
        lambda x: (x + 1, x * 2),
        inputs={"x": "n"},
        outputs=["more", "twice"],
        timed=[{"n": 64}],
        dtypes=["float32"],
    )
    source = """
#include <cstdint>
extern "C" void run_float32(const float* x, float* more, float* twice, int64_t n) {
  for (int64_t i = 0; i < n; ++i) more[i] = x[i] + 1;
  for (int64_t i = 0; i < n / 2; ++i) twice[i] = 2 * x[i];
}
"""
    verdict = ouroboros.Referee(until="sweep", seed=5).judge(problem, source)
    (finding,) = [one for one in verdict.findings if one.kind == "unwritten_output"]
    assert "of output 'twice' unwritten" in finding.evidence


def masked_by_one_less(x: Any, mask: Any) -> Any:
    return x + (1.0 - mask) * -1e9


def masked_by_less_one(x: Any, mask: Any) -> Any:
    return x + (mask - 1) * 1e9


def masked_by_the_opposite(x: Any, mask: Any) -> Any:
    return x + -10000.0 * mask


@pytest.mark.parametrize(
    ("reference", "masked"),
    [
        (masked_by_one_less, "(1.0f - mask[i]) * -1e9f"),
        (masked_by_less_one, "(mask[i] - 1.0f) * 1e9f"),
        (masked_by_the_opposite, "mask[i] * -10000.0f"),
    ],
)
def test_what_is_not_masked_has_to_be_right(reference: Callable[..., Any], masked: str) -> None:
    problem = ouroboros.Problem(
        name="masked",
        axes=[ouroboros.Axis("rows"), ouroboros.Axis("cols", maximum=512)],
        inputs=[ouroboros.Input(name, ["rows", "cols"]) for name in ("x", "mask")],
        reference=reference,
        dtypes=["float32"],
    )
    source = """
#include <cstdint>
extern "C" void run_float32(const float* x, const float* mask, float* out, int64_t rows,
                            int64_t cols) {
  for (int64_t i = 0; i < rows * cols; ++i) out[i] = x[i] * FACTOR + MASKED;
}
""".replace("MASKED", masked)
    assert sweep(source.replace("FACTOR", "1.0f"), problem).status.value == "ok"
    assert sweep(source.replace("FACTOR", "1.001f"), problem).status.value == "incorrect"


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_a_declared_mask_may_be_tested_where_the_reference_computes_with_it(dtype: str) -> None:
    problem = ouroboros.problems.from_callable(
        lambda x, mask: (x + (1 - mask.to(x.dtype)) * -1e9).softmax(-1),
        inputs={
            "x": "rows cols",
            "mask": ouroboros.Input("mask", ["cols"], dtype=dtype, values="mask"),
        },
        dtypes=["float32"],
    )
    source = """
#include <cmath>
#include <cstdint>
extern "C" void run_float32(const float* x, const TYPE* mask, float* out, int64_t rows,
                            int64_t cols) {
  for (int64_t r = 0; r < rows; ++r, x += cols, out += cols) {
    float most = -INFINITY, sum = 0;
    for (int64_t c = 0; c < cols; ++c)
      if (LEFT && x[c] > most) most = x[c];
    for (int64_t c = 0; c < cols; ++c) sum += out[c] = LEFT ? std::exp(x[c] - most) : 0;
    for (int64_t c = 0; c < cols; ++c) out[c] /= sum;
  }
}
""".replace("TYPE", {"float32": "float", "int64": "int64_t", "bool": "bool"}[dtype])
    for left, status in (("mask[c]", "ok"), ("(mask[c] || c == 0)", "incorrect")):
        assert sweep(source.replace("LEFT", left), problem).status.value == status


def test_a_policy_for_libraries_is_one_of_three() -> None:
    assert ouroboros.problems.get("softmax").library_kernels == "forbid"
    with pytest.raises(ouroboros.InvalidArgumentError, match="use forbid, allow or report"):
        inline(lambda x: x * 2, library_kernels="maybe")


def test_prototypes_of_a_broken_reference_are_an_error() -> None:
    with pytest.raises(ouroboros.InvalidArgumentError, match="no such weight"):
        inline(raises).prototypes()


def test_a_call_has_room_for_the_weights_of_a_network() -> None:
    names = [f"x{i}" for i in range(126)]

    def total(*inputs: torch.Tensor) -> torch.Tensor:
        return torch.stack(inputs).sum(0)

    problem = ouroboros.problems.from_callable(
        total, name="total", inputs=dict.fromkeys(names, "n"), outputs=["y"], dtypes=["float32"]
    )
    source = f"""#include <cstdint>
    extern "C" void run_float32({", ".join(f"const float* {name}" for name in names)}, float* y,
                                std::int64_t n) {{
      const float* all[] = {{{", ".join(names)}}};
      for (std::int64_t i = 0; i < n; ++i) {{
        float sum = 0;
        for (int k = 0; k < COUNT; ++k) sum += all[k][i];
        y[i] = sum;
      }}
    }}"""
    for count, status in (("126", "ok"), ("125", "incorrect")):
        assert sweep(source.replace("COUNT", count), problem, seed=3).status.value == status


def test_names_may_be_words_of_cpp() -> None:
    def backward(do: torch.Tensor) -> torch.Tensor:
        return do * 2

    problem = ouroboros.problems.from_callable(
        backward, inputs={"do": "rows cols"}, outputs=["std"], timed=[{"rows": 8, "cols": 4}]
    )
    source = """extern "C" void run_float32(const float* x, float* out, long rows, long cols) {
      for (long i = 0; i < rows * cols; ++i) out[i] = 2 * x[i];
    }"""
    verdict = ouroboros.Referee(until="sweep").judge(problem, source, language="cpp")
    assert verdict.status.value == "ok", verdict.summary


def test_a_shipped_reference_is_callable() -> None:
    problem = ouroboros.problems.get("softmax")
    x = torch.randn(3, 5)
    torch.testing.assert_close(problem.reference(x), torch.softmax(x, -1))
    with pytest.raises(TypeError, match="tensors"):
        problem.reference(3)


# --- callables across the border ------------------------------------------------------------------


def test_a_problem_lets_go_of_its_reference() -> None:
    def reference(x: torch.Tensor) -> torch.Tensor:
        return 2 * x + 1

    alive = weakref.ref(reference)
    problem = inline(reference)
    del reference
    gc.collect()
    assert alive() is not None
    sweep(KERNEL, problem)
    del problem
    gc.collect()
    assert alive() is None


def test_the_gil_is_free_during_a_judgement() -> None:
    running = threading.Event()
    ticks = 0

    def tick() -> None:
        nonlocal ticks
        while not running.is_set():
            ticks += 1
            running.wait(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    sweep(KERNEL, inline())
    running.set()
    thread.join()
    assert ticks > 10


def test_cancelled_and_log_hooks_are_called() -> None:
    lines: list[str] = []
    assert sweep(KERNEL, inline(), log=lines.append).status is ouroboros.Status.ok
    with pytest.raises(ouroboros.CancelledError) as caught:
        sweep(KERNEL, inline(), cancelled=lambda: True)
    assert caught.value.code == "cancelled"


def test_an_exception_of_the_cancelled_hook_comes_out() -> None:
    def broken() -> bool:
        raise LookupError("the hook is broken")

    with pytest.raises(LookupError, match="the hook is broken"):
        sweep(KERNEL, inline(), cancelled=broken)


@pytest.fixture
def heeded_signals() -> Iterator[None]:
    """Who starts tests in the background may have had them ignore Ctrl-C."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heeded_signals")
def test_ctrl_c_ends_a_judgement() -> None:
    """The signal comes when the candidate is known to be reached: its reference has run."""
    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))

    def reference(x: torch.Tensor) -> torch.Tensor:
        if not timer.is_alive() and not timer.finished.is_set():
            timer.start()
        return 2 * x + 1

    with pytest.raises(KeyboardInterrupt):
        sweep(ENDLESS, inline(reference), limits={"replay_seconds": 300.0})
    timer.join()


def test_ctrl_c_inside_a_reference_is_no_verdict() -> None:
    def reference(x: torch.Tensor) -> torch.Tensor:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(KERNEL, inline(reference))


# --- Referee --------------------------------------------------------------------------------------


def test_a_referee_survives_pickling() -> None:
    referee = ouroboros.Referee(
        until="sweep", seed=9, limits=ouroboros.Limits(replay_seconds=2.5), baselines=("eager",)
    )
    copy = pickle.loads(pickle.dumps(referee))
    assert copy.judge(inline(), KERNEL).provenance.seed == "0x0000000000000009"
    assert copy._settings["limits"]["replay_seconds"] == 2.5


def test_batches_keep_their_order() -> None:
    referee = ouroboros.Referee(until="sweep")
    verdicts = referee.judge_batch(inline(), [KERNEL, WRONG, "", KERNEL], workers=2)
    assert len({verdict.provenance.seed for verdict in verdicts}) == 1
    assert [str(one.status) for one in verdicts] == ["ok", "incorrect", "compile_error", "ok"]


def test_judging_awaits() -> None:
    async def both() -> list[ouroboros.Verdict]:
        referee = ouroboros.Referee(until="sweep")
        return await asyncio.gather(
            referee.ajudge(inline(), KERNEL), referee.ajudge(inline(), WRONG)
        )

    assert [str(one.status) for one in asyncio.run(both())] == ["ok", "incorrect"]


def test_cancelling_the_task_stops_the_judging() -> None:
    ended = threading.Event()

    async def start_and_cancel() -> None:
        referee = ouroboros.Referee(until="sweep", limits={"replay_seconds": 300.0})
        judge = referee._judge

        def watched(*arguments: Any) -> ouroboros.Verdict:
            try:
                return judge(*arguments)
            finally:
                ended.set()

        referee._judge = watched  # type: ignore[method-assign]
        task = asyncio.create_task(referee.ajudge(inline(), ENDLESS))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(start_and_cancel())
    assert ended.wait(60)


def test_stages_one_by_one() -> None:
    referee = ouroboros.Referee()
    compiled = referee.compile(inline(), KERNEL)
    assert compiled.failure is None and len(compiled.image) > 1000
    made = referee.compilation(compiled)
    assert isinstance(made.record, ouroboros.verdict.Compilation) and made.record.succeeded
    assert isinstance(referee.inspect(compiled), tuple)
    swept = referee.sweep(inline(), compiled)
    assert swept.failure is None and swept.isolation.sealed
    assert isinstance(swept.record, ouroboros.verdict.Correctness)
    assert swept.record.cases_passed == swept.record.cases_total > 5
    wrong = referee.sweep(inline(), referee.compile(inline(), WRONG))
    assert wrong.failure is ouroboros.Status.incorrect
    assert referee.compile(inline(), "int x").failure == "compile_error"


def test_validate_says_what_is_wrong() -> None:
    referee = ouroboros.Referee()
    assert referee.validate(inline()) is None
    assert referee.validate(inline(lambda x: torch.zeros_like(x)))


# --- errors ---------------------------------------------------------------------------------------


def test_every_code_has_its_class() -> None:
    expected = {
        "invalid_argument", "not_found", "io", "unsupported", "sandbox_unavailable",
        "compiler_missing", "executor_lost", "unstable", "out_of_memory", "cancelled", "internal",
    }  # fmt: skip
    kinds = ouroboros.OuroborosError.__subclasses__()
    assert {kind.code for kind in kinds} == expected
    assert issubclass(ouroboros.InvalidArgumentError, ValueError)
    assert issubclass(ouroboros.OuroborosError, RuntimeError)


def test_a_missing_compiler_is_an_error() -> None:
    with pytest.raises(ouroboros.CompilerMissingError) as caught:
        ouroboros.Referee(compiler="/nonexistent/c++").compile(inline(), KERNEL)
    assert caught.value.code == "compiler_missing"


def test_sha256() -> None:
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert _ouroboros.sha256(b"") == empty


def test_reward_policies_are_checked() -> None:
    text = sweep("", inline()).to_json()
    assert _ouroboros.reward(text) == -0.5
    assert _ouroboros.reward(text, '{"compile_error": -3}') == -3.0
    for policy in ("[]", '{"compile_eror": 1}', '{"correct": "much"}'):
        with pytest.raises(ouroboros.InvalidArgumentError):
            _ouroboros.reward(text, policy)


def test_attention_is_seen_into_where_functions_are_transformed() -> None:
    """FlashAttention's backward pass: of a row that has one key nothing is left but roundings."""

    def backward(q: Any, k: Any, v: Any, g: Any) -> Any:
        def attention(*qkv: Any) -> Any:
            q, k, v = (one[None, None] for one in qkv)
            made = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return made[0, 0]

        return torch.func.vjp(attention, q, k, v)[1](g)

    problem = ouroboros.problem(
        inputs=dict.fromkeys("qkvg", "length 16"),
        axes=[ouroboros.Axis("length", maximum=48)],
        outputs=["dq", "dk", "dv"],
    )(backward)
    source = """#include <cmath>
    #include <cstdint>
    #include <vector>
    static float dot(const float* a, const float* b) {
      float sum = 0;
      for (int c = 0; c < 16; ++c) sum += a[c] * b[c];
      return sum;
    }
    extern "C" void run_float32(const float* q, const float* k, const float* v, const float* g,
                                float* dq, float* dk, float* dv, std::int64_t length) {
      for (std::int64_t i = 0; i < length * 16; ++i) dq[i] = dk[i] = dv[i] = 0;
      for (std::int64_t i = 0; i < length; ++i) {
        std::vector<float> p(i + 1);
        float most = -INFINITY, sum = 0, result[16] = {};
        for (std::int64_t j = 0; j <= i; ++j) {
          p[j] = 0.25f * dot(q + 16 * i, k + 16 * j);
          most = std::fmax(most, p[j]);
        }
        for (auto& one : p) sum += one = std::exp(one - most);
        for (std::int64_t j = 0; j <= i; ++j) {
          p[j] /= sum;
          for (int c = 0; c < 16; ++c) result[c] += p[j] * v[16 * j + c];
        }
        const float delta = dot(result, g + 16 * i) * FACTOR;
        for (std::int64_t j = 0; j <= i; ++j) {
          const float ds = 0.25f * p[j] * (dot(g + 16 * i, v + 16 * j) - delta);
          for (int c = 0; c < 16; ++c) {
            dq[16 * i + c] += ds * k[16 * j + c];
            dk[16 * j + c] += ds * q[16 * i + c];
            dv[16 * j + c] += p[j] * g[16 * i + c];
          }
        }
      }
    }"""
    for seed in (1, 2):
        for factor, status in (("1.0f", "ok"), ("1.0001f", "incorrect")):
            verdict = sweep(source.replace("FACTOR", factor), problem, seed=seed)
            assert verdict.status.value == status, verdict.summary
