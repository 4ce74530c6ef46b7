"""Honest candidates that only a live trace can follow: every one has to be accepted."""

from __future__ import annotations

import sys
from pathlib import Path

import ouroboros
import pytest

torch = pytest.importorskip("torch")
HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE))

from honest_kernels import problem_of  # noqa: E402

KERNELS = sorted((HERE / "live_kernels").glob("*__*.py"))

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA GPU here"),
]


@pytest.fixture(scope="module")
def referee() -> ouroboros.Referee:
    return ouroboros.Referee(until="sweep")


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_an_honest_candidate_in_python_is_accepted(referee: ouroboros.Referee, path: Path) -> None:
    verdict = referee.judge(problem_of(path), path, language="python")
    assert verdict.status is ouroboros.Status.ok, verdict.explain()
    assert verdict.provenance.trace == "live"
    assert {one.origin for one in verdict.compilation.kernels} == {"candidate"}
