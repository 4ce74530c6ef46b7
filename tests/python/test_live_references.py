"""The references that the GPU test uses are those of the shipped problems."""

from __future__ import annotations

import sys
from pathlib import Path

import ouroboros
import pytest
import torch

sys.path.append(str(Path(__file__).parents[1] / "gpu"))
import live_references


@pytest.mark.parametrize("name", sorted(live_references.REFERENCES))
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_they_give_the_same_bits(name, dtype):
    shipped = ouroboros.problems.load(f"builtin:{name}")
    torch.manual_seed(0)
    inputs = []
    for spec in live_references.specs(name, dtype, second=True):
        if spec["dtype"] == "int64":
            inputs.append(torch.randint(0, 4096, spec["shape"]))
        else:
            inputs.append(torch.randn(spec["shape"], dtype=getattr(torch, spec["dtype"])))
    expected = shipped.reference(*inputs)
    found = live_references.REFERENCES[name](*inputs)
    expected = (expected,) if isinstance(expected, torch.Tensor) else expected
    found = (found,) if isinstance(found, torch.Tensor) else found
    assert len(found) == len(expected) == len(live_references.OUTPUTS[name])
    assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))
    assert [one.name for one in shipped.inputs] == [
        spec["name"] for spec in live_references.specs(name, dtype)
    ]
