"""The torch.compile baseline: right, on the given buffers, on one thread, and without traces."""

from __future__ import annotations

from typing import Any

import ouroboros
import pytest
import torch
from ouroboros import baselines


def prepared(problem: ouroboros.Problem, *inputs: torch.Tensor) -> tuple[Any, torch.Tensor]:
    """Prepares the compiled code the way a referee does, on buffers whose values come later."""
    expected = problem.reference(*inputs)
    out = torch.full_like(expected, 77)
    buffers = tuple(torch.empty_like(one) for one in inputs)
    captured: list[Any] = []
    original = baselines.Baseline

    class Spy:
        def __init__(self, name: str, prepare: Any) -> None:
            assert name == "compile"
            captured.append(prepare)

    baselines.Baseline = Spy  # type: ignore[assignment, misc]
    try:
        baselines.compile_baseline(problem)
    finally:
        baselines.Baseline = original  # type: ignore[misc]
    run = captured[0](buffers, (out,))
    assert (out == 77).all(), "preparing must not write to the referee's buffers"
    for buffer, value in zip(buffers, inputs, strict=True):
        buffer.copy_(value)
    run()
    return run, out


def example(name: str) -> tuple[ouroboros.Problem, tuple[torch.Tensor, ...]]:
    problem = ouroboros.problems.get(name)
    if name == "cross_entropy":
        return problem, (torch.randn(8, 40), torch.randint(0, 40, (8,)))
    return problem, (torch.randn(8, 40),)


@pytest.mark.parametrize("name", ["softmax", "cross_entropy", "cumsum"])
def test_it_computes_what_the_reference_computes(name: str) -> None:
    problem, inputs = example(name)
    _, out = prepared(problem, *inputs)
    torch.testing.assert_close(out, problem.reference(*inputs))


def test_the_store_is_fused_into_one_kernel() -> None:
    from torch._inductor.utils import run_and_get_code

    problem, _ = example("softmax")
    baselines._cache.clear()

    def prepare() -> torch.Tensor:
        return prepared(problem, torch.randn(9, 48))[1]

    with torch._inductor.config.patch(force_disable_caches=True):
        _, sources = run_and_get_code(prepare)
    (source,) = sources
    assert source.count("async_compile.cpp") == 1
    assert "omp parallel" not in source, "the baseline has one thread, like the candidate"


def test_it_is_kept_for_a_second_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, inputs = example("softmax")
    prepared(problem, *inputs)

    def refuse(*arguments: object) -> None:
        raise AssertionError("compiled twice")

    monkeypatch.setattr(baselines, "_compile", refuse)
    prepared(ouroboros.problems.get("softmax"), *inputs)
    with pytest.raises(AssertionError, match="compiled twice"):
        prepared(problem, torch.randn(8, 41))


def test_the_process_keeps_its_settings() -> None:
    import torch._inductor.config

    before = torch._inductor.config.get_config_copy()
    threads = torch.get_num_threads()
    problem, _ = example("softmax")
    prepared(problem, torch.randn(6, 24))
    assert torch._inductor.config.get_config_copy() == before
    assert torch.get_num_threads() == threads
    assert torch.is_grad_enabled()


def inline(reference: Any) -> ouroboros.Problem:
    return ouroboros.Problem(
        name="p",
        axes=[ouroboros.Axis("rows"), ouroboros.Axis("cols")],
        inputs=[ouroboros.Input("x", ["rows", "cols"])],
        timed=[{"rows": 8, "cols": 8}],
        reference=reference,
    )


def test_what_cannot_be_traced_is_unavailable_with_its_reason() -> None:
    def branches(x: torch.Tensor) -> torch.Tensor:
        return 2 * x + 1 if x.sum().item() > -1e30 else x

    with pytest.raises(Exception, match=r"(?i)data|fake|item"):
        prepared(inline(branches), torch.randn(8, 8))


def test_names_are_checked_and_own_baselines_win() -> None:
    problem = inline(lambda x: x)
    assert [one.name for one in baselines.with_baselines(problem, ("eager",)).baselines] == []
    (only,) = baselines.with_baselines(problem, ("eager", "compile", "compile")).baselines
    assert only.name == "compile"
    own = ouroboros.Baseline("compile", lambda inputs, outputs: lambda: None)
    mine = baselines.with_baselines(problem.with_baselines([own]), ("compile",)).baselines
    assert len(mine) == 1
    with pytest.raises(ouroboros.InvalidArgumentError, match="numpy"):
        baselines.with_baselines(problem, ("numpy",))


KERNEL = """
#include <cstdint>
extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows * cols; ++i) out[i] = 2.0f * x[i] + 1.0f;
}
"""


def test_a_verdict_has_the_baselines_that_were_asked_for() -> None:
    def broken(inputs: object, outputs: object) -> Any:
        raise OSError("no such library")

    verdict = ouroboros.verify(
        KERNEL,
        inline(lambda x: 2 * x + 1),
        baselines=("eager", "compile", ouroboros.Baseline("broken", broken)),
        timing={"looks": [4], "budget_seconds": 0.2},
    )
    assert verdict.status is ouroboros.Status.ok, verdict.summary
    (cell,) = verdict.timing.cells
    by_name = {one.name: one for one in cell.baselines}
    assert set(by_name) == {"eager", "compile", "broken"}
    assert by_name["eager"].status == by_name["compile"].status == "timed"
    assert by_name["broken"].status == "unavailable"
    assert "no such library" in by_name["broken"].reason
