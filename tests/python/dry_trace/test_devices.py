"""Which row of the table answers for a GPU."""

from __future__ import annotations

import pytest
from ouroboros.trace.devices import DEVICES, device_for


def test_a_gpu_of_the_table_answers_for_itself() -> None:
    for device in DEVICES.values():
        assert device_for(device.target, device.name) is device


def test_a_product_that_is_unknown_or_of_another_architecture_gets_the_usual_one() -> None:
    assert device_for("sm_90").name == "NVIDIA H200"
    assert device_for("sm_90a", "NVIDIA GH200 480GB").name == "NVIDIA H200"
    assert device_for("sm_90", "NVIDIA A100-SXM4-80GB").name == "NVIDIA H200"


def test_a_target_without_a_row_is_named() -> None:
    with pytest.raises(ValueError, match="no target 'sm_61'"):
        device_for("sm_61")
