"""What the L2 cache holds before a timed call, on a GPU."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import ouroboros  # noqa: E402 - it needs PyTorch
from ouroboros.trace.plan_baselines import plan_baseline  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA GPU here"),
]


def timed(cache: str) -> ouroboros.verdict.TimedCell:
    """Returns what eager mode's softmax of 16 MB takes against a second copy of itself."""
    problem = ouroboros.problems.load("softmax")
    plan = plan_baseline(problem, "eager")
    referee = ouroboros.Referee(mode="screen", dtypes=["float32"], cache=cache)
    verdict = referee.compare(problem, plan, plan, cells=[{"rows": 1024, "cols": 4096}])
    assert verdict.status.value == "ok", verdict.to_json()
    assert verdict.timing.cache == cache
    return verdict.timing.cells[0]


def test_every_cache_is_timed_in_its_own_way() -> None:
    cells = {cache: timed(cache) for cache in ("cold", "dirty", "hot", "rotated")}
    assert {cache: cell.estimator for cache, cell in cells.items()} == {
        "cold": "bracket",
        "dirty": "bracket",
        "hot": "bracket",
        "rotated": "chain",
    }
    assert cells["hot"].latency_us.estimate < cells["cold"].latency_us.estimate
