"""Bad input from Python: each has its status or its exception, and a sentence that helps."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import ouroboros
import pytest
import torch

KERNEL = """
extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows * cols; ++i) out[i] = 2.0f * x[i] + 1.0f;
}
"""


def affine(x: torch.Tensor) -> torch.Tensor:
    return 2 * x + 1


def problem(reference: Any = affine, **options: Any) -> ouroboros.Problem:
    return ouroboros.Problem(
        name="affine",
        axes=[ouroboros.Axis("rows", minimum=0, maximum=64), ouroboros.Axis("cols", maximum=128)],
        inputs=[ouroboros.Input("x", ["rows", "cols"])],
        reference=reference,
        **options,
    )


def sweep(source: str | bytes, subject: Any, **options: Any) -> ouroboros.Verdict:
    return ouroboros.verify(source, subject, until="sweep", **options)


def fresh(program: str) -> dict[str, Any]:
    """What a program in a process of its own prints, as JSON."""
    prelude = (
        "import json, os, signal, sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import ouroboros, test_bad_input as here\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", prelude + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loaded: dict[str, Any] = json.loads(done.stdout)
    return loaded


@pytest.mark.parametrize(
    ("source", "finding"),
    [
        ("", "refused_source"),
        (b"\x7fELF\x00\x01", "refused_source"),
        ("int main() {}", "missing_entry_point"),
    ],
)
def test_a_source_that_is_no_candidate_says_why(source: str | bytes, finding: str) -> None:
    verdict = sweep(source, problem())
    assert verdict.status is ouroboros.Status.compile_error
    assert finding in [item.kind for item in verdict.findings]
    assert len(verdict.summary) > 20
    assert verdict.reward() == -0.5


@pytest.mark.parametrize("language", ["triton", "python"])
def test_a_source_without_a_function_run_is_a_compile_error_in_triton_as_in_cpp(
    language: str,
) -> None:
    pytest.importorskip("triton")
    referee = ouroboros.Referee(until="sweep", target="sm_90")
    verdict = referee.judge(problem(), "def forward(x):\n    return x\n", language=language)
    if language == "python" and verdict.status is ouroboros.Status.infrastructure_error:
        pytest.skip(f"no GPU to trace on: {verdict.summary}")
    assert verdict.status is ouroboros.Status.compile_error
    assert [item.kind for item in verdict.findings] == ["missing_entry_point"]
    assert verdict.reward() == -0.5


def test_noise_is_a_compile_error_and_its_record_is_json() -> None:
    noise = bytes(byte for byte in range(255, 0, -1)) * 8
    verdict = sweep(noise, problem())
    assert verdict.status is ouroboros.Status.compile_error
    assert json.loads(verdict.to_json())["status"] == "compile_error"


def test_a_source_of_100_mb_is_refused_unread() -> None:
    verdict = sweep("x" * (100 << 20), problem())
    assert verdict.status is ouroboros.Status.compile_error
    assert "102400 KiB" in verdict.summary
    assert verdict.source == ""
    assert len(verdict.to_json()) < 10_000


def noisy(x: torch.Tensor) -> torch.Tensor:
    return x + torch.rand_like(x)


def mutating(x: torch.Tensor) -> torch.Tensor:
    return x.add_(1) * 2


def constant(x: torch.Tensor) -> torch.Tensor:
    return torch.zeros_like(x)


def absent(x: torch.Tensor) -> None:
    return None


def failing(x: torch.Tensor) -> torch.Tensor:
    raise ValueError("no such weight")


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        (noisy, "not deterministic"),
        (mutating, "writes to its input"),
        (constant, "zeros everywhere"),
        (absent, "None"),
        (failing, "no such weight"),
    ],
)
def test_a_reference_at_fault_makes_the_problem_invalid(reference: Any, text: str) -> None:
    verdict = sweep(KERNEL, problem(reference))
    assert verdict.status is ouroboros.Status.invalid_problem
    assert text in verdict.summary
    assert verdict.reward() is None


def test_empty_tensors_are_judged_where_they_are_legal() -> None:
    verdict = sweep(KERNEL, problem())
    empty = [case for case in verdict.correctness.cases if case.axes["rows"] == 0]
    assert [case.status for case in empty] == ["passed"]


def test_a_shape_that_does_not_fit_is_an_infrastructure_error() -> None:
    subject = problem(timed=[{"rows": 1 << 20, "cols": 1 << 20}])
    verdict = ouroboros.verify(KERNEL, subject, until="time", baselines=["eager"])
    assert verdict.status is ouroboros.Status.infrastructure_error
    assert "GiB" in verdict.summary
    assert verdict.reward() is None


@pytest.mark.parametrize(
    ("options", "kind"),
    [({"compiler": "/nonexistent"}, "compiler_missing"), ({"scratch": "/nonexistent"}, "io")],
)
def test_a_machine_that_lacks_something_is_not_the_candidates_fault(
    options: dict[str, str], kind: str
) -> None:
    verdict = sweep(KERNEL, problem(), **options)
    assert verdict.status is ouroboros.Status.infrastructure_error
    assert kind in [item.kind for item in verdict.findings]
    assert "/nonexistent" in verdict.summary
    assert verdict.reward() is None


@pytest.mark.parametrize(
    "options", [{"limits": {"heap_mib": 0}}, {"timing": {"looks": []}}], ids=["limits", "looks"]
)
def test_options_that_can_never_work_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ouroboros.InvalidArgumentError, match=r"heap_mib|looks"):
        ouroboros.verify(KERNEL, problem(), **options)


def test_a_program_that_ignores_its_childrens_ends_gets_right_verdicts() -> None:
    statuses = fresh(
        """
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        sources = [here.KERNEL, here.KERNEL.replace("1.0f", "1.5f"), "nonsense"]
        print(json.dumps({"is": [str(here.sweep(s, here.problem()).status) for s in sources]}))
        """
    )
    assert statuses["is"] == ["ok", "incorrect", "compile_error"]


def test_a_program_without_standard_input_gets_timed_verdicts() -> None:
    verdict = fresh(
        """
        os.close(0)
        subject = here.problem(timed=[{"rows": 33, "cols": 100}])
        verdict = ouroboros.verify(
            here.KERNEL, subject, until="time", baselines=["eager"], timing={"looks": [16]}
        )
        print(verdict.to_json())
        """
    )
    assert verdict["status"] == "ok", verdict["summary"]
    assert verdict["timing"]["cells"]


def test_a_referee_that_may_open_no_file_says_what_to_do() -> None:
    text = """
        import os, resource
        import ouroboros
        held = [os.open("/dev/null", os.O_RDONLY)]
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (held[0] + 1, hard))
        try:
            while True:
                held.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            pass
        try:
            ouroboros.Referee()
        except ouroboros.IOFailure as error:
            print(error)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        ouroboros.Referee()
        print("well again")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, check=False
    )
    assert "raise their limit (ulimit -n)" in done.stdout, done.stderr
    assert "well again" in done.stdout, done.stderr


@pytest.mark.parametrize("error", ["MemoryError()", "RuntimeError('std::bad_alloc')"])
def test_a_reference_without_memory_is_not_the_problems_fault(error: str) -> None:
    def starved(x: torch.Tensor) -> torch.Tensor:
        raise eval(error)

    verdict = sweep(KERNEL, problem(starved))
    assert verdict.status == "infrastructure_error"
    assert "ran out of memory" in verdict.summary
