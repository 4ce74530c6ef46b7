"""Kernels that keep a memo of their inputs, in every place where one might outlive a launch.

A memo is worth nothing, because what keeps it is cleared and because inputs are fresh; or it is
found, because the second meeting is quicker.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

sys.path.append(str(Path(__file__).parent))

import ouroboros  # noqa: E402 - it needs PyTorch
from memos import PLACES, double, source  # noqa: E402 - it is beside this file

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA GPU here"),
]


@pytest.mark.parametrize("place", PLACES)
def test_a_memo_is_worth_nothing_or_found(place: str) -> None:
    verdict = ouroboros.Referee(mode="report").compare(
        double, source(**PLACES[place]).encode(), source().encode()
    )
    found = [one for one in verdict.findings if one.kind == "remembers_inputs"]
    (baseline,) = verdict.timing.cells[0].baselines
    print(f"\n{place}: {verdict.status.value}, ratio {baseline.speedup}, memory {baseline.memory}")
    if verdict.status is ouroboros.Status.rejected:
        assert found and found[0].severity == "cheat"
    else:
        assert verdict.status is ouroboros.Status.ok
        assert baseline.speedup.high < 1.05


def test_a_memo_on_the_heap_is_refused() -> None:
    verdict = ouroboros.Referee().judge(
        double,
        source(locals="unsigned* kept = static_cast<unsigned*>(malloc(4));", mark="kept").encode(),
        language="cuda",
    )
    assert verdict.status is not ouroboros.Status.ok
    assert any(one.kind == "device_heap" for one in verdict.findings)
