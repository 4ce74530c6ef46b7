"""The honest kernels of tests/gpu/kernels are right, as far as Triton's interpreter can tell."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import ouroboros
import pytest
import torch

pytest.importorskip("triton")

sys.path.append(str(Path(__file__).resolve().parents[1] / "gpu"))

import honest_kernels

FOLDER = honest_kernels.KERNELS
# What calls a library is traced on a GPU.
ALL = [path for path in honest_kernels.kernels(".py") if not path.stem.endswith("__library")]
# Those of shipped problems, whose inputs are rows, are held against a bound of this file's own; the
# others against the referee's.
KERNELS = [path for path in ALL if path.stem.split("__")[0] in ouroboros.problems.names()]
OTHERS = [path for path in ALL if path not in KERNELS]

# (rows, columns, dtype, family). The columns of rope are those of half a row.
QUICK = [
    (1, 1, "float32", "normal"),
    (0, 8, "float32", "normal"),
    (5, 1, "float16", "normal"),
    (3, 257, "float32", "large_mean"),
    (3, 257, "float16", "x64"),
    (17, 64, "float32", "x64"),
    (2, 1030, "float16", "normal"),
    (4, 31, "float32", "infinite"),
]
SLOW = [
    (1, 4097, "float32", "large_mean"),
    (130, 31, "float16", "large_mean"),
    (2, 8192, "float32", "normal"),
    (2, 5001, "float16", "x64"),
    (4, 2056, "float32", "x64"),
    (3, 96, "bfloat16", "normal"),
    (2, 33, "bfloat16", "large_mean"),
]
# Where infinities have a meaning: a row of -inf, one with +inf, one that holds both.
INFINITE = ("softmax", "log_softmax", "cross_entropy")


def values(shape: list[int], family: str, generator: torch.Generator) -> torch.Tensor:
    x = torch.randn(shape, generator=generator)
    if family == "x64":
        return x * 64
    if family == "large_mean":
        return x + 256
    if family == "infinite":
        x[0] = -torch.inf
        x[1, ::3] = -torch.inf
        x[2, 5] = torch.inf
        x[3, 30] = torch.inf
        x[3, 0] = -torch.inf
    return x


def draw(problem: ouroboros.Problem, case: tuple[int, int, str, str]) -> list[torch.Tensor]:
    rows, cols, dtype, family = case
    sizes = dict(zip([axis.name for axis in problem.axes], (rows, cols), strict=True))
    generator = torch.Generator().manual_seed(rows * 7919 + cols)
    inputs = []
    for one in problem.inputs:
        extents = [str(extent).split("*") for extent in one.shape]
        shape = [sizes[e[-1]] * (int(e[0]) if len(e) == 2 else 1) for e in extents]
        if one.values == "index":
            inputs.append(torch.randint(0, cols, shape, generator=generator))
            continue
        plain = one.values == "real" and not one.parameter
        x = values(shape, family if plain else "normal", generator)
        inputs.append(x.to(getattr(torch, dtype)))
    return inputs


def nudged(x: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    if not x.is_floating_point():
        return x
    return x * (1 + 2.0**-24 * torch.randn(x.shape, generator=generator, dtype=x.dtype))


def tuple_of(result: Any) -> tuple[torch.Tensor, ...]:
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def assert_right(problem: ouroboros.Problem, case: Any, outputs: list[dict[str, Any]]) -> None:
    """The error is a few times what float32 loses: in the reference, or by rounding the inputs."""
    dtype = getattr(torch, case[2])
    inputs = draw(problem, case)
    wide = [x.double() if x.is_floating_point() else x for x in inputs]
    single = [x.float() if x.is_floating_point() else x for x in inputs]
    truths = tuple_of(problem.reference(*wide))
    singles = tuple_of(problem.reference(*single))
    generator = torch.Generator().manual_seed(1)
    moved = tuple_of(problem.reference(*(nudged(x, generator) for x in wide)))
    ulp = torch.finfo(dtype).eps
    for output, truth, *others in zip(outputs, truths, singles, moved, strict=True):
        assert output["dtype"] == case[2], case
        assert output["shape"] == list(truth.shape), case
        if truth.numel() == 0:
            continue
        got = torch.frombuffer(bytearray(output["bytes"]), dtype=dtype).view(truth.shape).double()
        want = truth.to(dtype).double()
        same = (got == want) | (got.isnan() & want.isnan())
        lost = sum((other - truth).abs().nan_to_num(0.0, 0.0, 0.0).amax() for other in others)
        scale = truth.abs().nan_to_num(0.0, 0.0, 0.0)
        sums = 4 + case[1] ** 0.5 / 8
        allowed = 0.51 * ulp * scale + sums * lost + 2.0**-19 * scale.amax(-1, keepdim=True)
        near = (got - truth).abs() <= allowed + torch.finfo(dtype).smallest_normal * ulp
        wrong = ~(same | near)
        assert not wrong.any(), f"{case}: {got[wrong][:4]} where {truth[wrong][:4]} is right"


def check(path: Path, cases: list[Any], interpret: Any, source: str = "") -> None:
    problem = ouroboros.problems.get(path.stem.split("__")[0])
    cases = [case for case in cases if case[3] != "infinite" or problem.name in INFINITE]
    names = [one.name for one in problem.inputs]
    signatures = [list(zip(names, draw(problem, case), strict=True)) for case in cases]
    results = interpret(source or path.read_text(), signatures, problem.outputs, name=path.stem)
    for case, result in zip(cases, results, strict=True):
        assert result["refusal"] is None, (case, result["refusal"])
        assert_right(problem, case, result["outputs"])


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_kernel_is_right(path: Path, interpret: Any) -> None:
    check(path, QUICK, interpret)


@pytest.mark.slow
@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_kernel_is_right_on_long_rows_and_in_bfloat16(path: Path, interpret: Any) -> None:
    check(path, SLOW, interpret)


def verdict_of(path: Path, largest: int, dtypes: list[str], seed: int) -> ouroboros.Verdict:
    problem = honest_kernels.small(honest_kernels.problem_of(path), largest)
    limits = {"compile_seconds": 300}  # Tests may run on a busy machine.
    referee = ouroboros.Referee(
        until="sweep", target="sm_90", dtypes=dtypes, seed=seed, limits=limits
    )
    return referee.judge(problem, path)


# One of each problem, in a dtype of its own: benchmarks/honest judges all of them.
SOME = {path.stem.split("__")[0]: path for path in OTHERS}


@pytest.mark.parametrize("path", SOME.values(), ids=lambda path: path.stem)
def test_kernel_is_accepted(path: Path) -> None:
    dtypes = honest_kernels.problem_of(path).dtypes
    verdict = verdict_of(path, 6, [dtypes[len(path.stem) % len(dtypes)]], seed=7)
    assert verdict.status.value == "ok", verdict.summary


def test_weights_that_are_rounded_for_tensor_cores_are_accepted() -> None:
    verdict = verdict_of(FOLDER / "attention__exp2.py", 40, [], seed=8)
    assert verdict.status.value == "ok", verdict.summary


def test_a_class_that_the_reference_alone_names_is_drawn(tmp_path: Path) -> None:
    honest = FOLDER / "cross_entropy_ignoring__row.py"
    ignores = "    loss = tl.where(target == 777, 0.0, loss)\n"
    assert ignores in honest.read_text()
    forgets = tmp_path / honest.name
    forgets.write_text(honest.read_text().replace(ignores, ""))
    for seed in (1, 2, 3):
        verdict = verdict_of(forgets, 1024, ["float32"], seed)
        assert verdict.status.value == "incorrect"
        assert "expected 0 " in verdict.findings[0].evidence
    assert verdict_of(honest, 1024, ["float32"], seed=1).status.value == "ok"


def test_every_problem_has_kernels_and_loads() -> None:
    wanted = {path.stem for path in honest_kernels.PROBLEMS.glob("*.py")}
    assert {path.stem.split("__")[0] for path in OTHERS} == wanted
    assert all(honest_kernels.problem_of(path).name in wanted for path in OTHERS)


def test_there_are_many_kernels_of_every_problem() -> None:
    assert len(honest_kernels.kernels()) >= 150
    problems = [path.stem.split("__")[0] for path in KERNELS]
    for name in ouroboros.problems.names():
        assert problems.count(name) >= 5, name


def test_headers_say_problem_and_style() -> None:
    for path in ALL:
        problem, style = path.stem.split("__")
        assert path.read_text().startswith(f'"""{problem}, {style}: '), path.name


def test_a_wrong_kernel_would_be_noticed(interpret: Any) -> None:
    """The bound above tells an epsilon that is ten times too large."""
    file = FOLDER / "rmsnorm__row.py"
    source = file.read_text().replace("1e-6", "1e-5")
    with pytest.raises(AssertionError, match="is right"):
        check(file, QUICK[:1], interpret, source)
