"""Candidates that fail, or that ask about the device."""

from __future__ import annotations

from typing import Any

import pytest

COPY = """
@triton.jit
def copy(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)


def run(x):
    out = torch.empty_like(x)
    copy[(1,)](x, out, x.numel(), BLOCK=128)
    return out
"""


def test_torch_cuda_answers_for_the_target(dry: Any) -> None:
    source = """
import sys
from triton.runtime import driver

assert torch.cuda.is_available() and torch.cuda.device_count() == 1
assert torch.cuda.current_device() == 0 and torch.version.cuda
device = torch.cuda.get_device_properties("cuda")
capability = torch.cuda.get_device_capability(0)
assert (device.major, device.minor) == capability
print(torch.cuda.get_device_name(), capability, device.multi_processor_count,
      device.shared_memory_per_block_optin // 1024, device.warp_size, device.L2_cache_size >> 20)
assert driver.active.get_current_target().arch == 10 * capability[0] + capability[1]
properties = driver.active.utils.get_device_properties(driver.active.get_current_device())
assert properties["multiprocessor_count"] == device.multi_processor_count

def run(x):
    torch.cuda.synchronize()
    torch.manual_seed(0)
    assert torch.cuda.current_stream().cuda_stream == 0
    torch.cuda.nvtx.mark("here")
    torch.cuda.nvtx.range_push("a range")
    torch.cuda.nvtx.range_pop()
    with torch.cuda.nvtx.range("another"):
        torch.cuda.nvtx.range_end(torch.cuda.nvtx.range_start("a third"))
    with torch.cuda.device(x.device), torch.cuda.device_of(x):
        return torch.zeros_like(x)
"""
    x = dry.tensor("x", [4])

    def says(target: str, device: str | None = None) -> str:
        outcome = dry(source, x, target=target, device=device)
        assert outcome.refusal is None, outcome.refusal
        return outcome.log

    assert says("sm_80") == "NVIDIA A100-SXM4-80GB (8, 0) 108 163 32 40\n"
    assert says("sm_89") == "NVIDIA GeForce RTX 4090 (8, 9) 128 99 32 72\n"
    assert says("sm_90") == "NVIDIA H200 (9, 0) 132 227 32 50\n"
    assert says("sm_90", "NVIDIA H100 80GB HBM3") == "NVIDIA H100 80GB HBM3 (9, 0) 132 227 32 50\n"
    assert says("sm_100").startswith("NVIDIA B200 (10, 0) 148 227")


@pytest.mark.parametrize(
    ("expression", "op"),
    [
        ("torch.cuda.Stream()", "torch.cuda.Stream"),
        ("torch.cuda.Event(enable_timing=True)", "torch.cuda.Event"),
        ("torch.cuda.CUDAGraph()", "torch.cuda.CUDAGraph"),
        ("triton.testing.do_bench(lambda: None)", "triton.testing"),
        (
            "triton.runtime.driver.active.utils.cuOccupancyMaxActiveClusters(1, 2, 3)",
            "triton driver",
        ),
        ("triton.backends.nvidia.driver.CudaDriver()", "the CUDA driver"),
    ],
)
def test_what_a_plan_cannot_hold_is_refused_by_name(dry: Any, expression: str, op: str) -> None:
    refusal = dry(f"def run(x):\n    return {expression}", dry.tensor("x", [4])).refused
    assert refusal["kind"] in ("unsupported", "needs_device")
    assert refusal["op"].startswith(op)


@pytest.mark.parametrize(
    ("source", "kind", "says"),
    [
        ("def run(x:\n    pass", "compile_error", "SyntaxError"),
        ("import no_such_package", "runtime_error", "ModuleNotFoundError"),
        ("def main(x):\n    return x", "missing_entry_point", "defines no function 'run'"),
        ("def run(x):\n    raise ValueError('no')", "runtime_error", "ValueError: no"),
        (
            "def run(x):\n    e = ValueError('round')\n    e.__cause__ = e\n    raise e",
            "runtime_error",
            "ValueError: round",
        ),
        ("def run(x):\n    raise SystemExit(0)", "runtime_error", "SystemExit"),
        ("def run(x, y):\n    return x", "runtime_error", "missing 1 required positional"),
        (COPY.replace("tl.load(x", "tl.fetch(x"), "compile_error", "fetch"),
        (COPY.replace("BLOCK=128", "BLOCK=100"), "compile_error", "power of 2"),
        # What fails inside a function of Triton's.
        (
            COPY.replace("tl.load(x", "tl.load(tl.flip(0) + x"),
            "compile_error",
            "no attribute 'shape'",
        ),
        (COPY.replace("(x, out, x.", "(x.meta, out, x."), "runtime_error", "cannot be accessed"),
        (
            COPY.replace("(x, out, x.", "(torch.ones(4), out, x."),
            "runtime_error",
            "cannot be accessed",
        ),
    ],
)
def test_failures_say_what_and_where(dry: Any, source: str, kind: str, says: str) -> None:
    refusal = dry(source, dry.tensor("x", [4])).refused
    assert refusal["kind"] == kind
    assert says in refusal["message"]


def test_a_kernel_that_does_not_fit_is_a_compile_error(dry: Any) -> None:
    source = """
@triton.jit
def product(a, b, out, BLOCK: tl.constexpr, DEPTH: tl.constexpr):
    row, column = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, 4096, DEPTH):
        deep = start + tl.arange(0, DEPTH)
        total = tl.dot(tl.load(a + row * 4096 + deep[None, :]),
                       tl.load(b + deep[:, None] * BLOCK + column), total)
    tl.store(out + row * BLOCK + column, total)

def run(a, b):
    out = torch.empty((128, 128), device="cuda")
    product[(1,)](a, b, out, 128, 128, num_stages=6, num_warps=8)
    return out
"""
    inputs = dry.tensor("a", [128, 4096], "float16"), dry.tensor("b", [4096, 128], "float16")
    refusal = dry(source, *inputs).refused
    assert refusal["kind"] == "compile_error"
    assert "shared memory" in refusal["message"]


def test_what_is_printed_is_kept_apart_and_bounded(dry: Any) -> None:
    source = """
import os, sys
print("at import")
print("to stderr", file=sys.stderr)

def run(x):
    os.write(1, b"below Python\\n")
    print("y" * 1_000_000)
    return torch.zeros_like(x)
"""
    log = dry(source, dry.tensor("x", [4])).log
    assert len(log) == 1 << 16
    assert {"at import", "to stderr", "below Python"} <= set(log.splitlines())


def test_hooks_of_a_launch_are_refused(dry: Any) -> None:
    source = COPY + "\ntriton.knobs.runtime.launch_enter_hook = print\n"
    if_new = "\ntriton.knobs.runtime.launch_enter_hook.add(print)\n"
    refusals = [dry(text, dry.tensor("x", [4])).refusal for text in (source, COPY + if_new)]
    assert "launch_enter_hook" in [refusal["op"] for refusal in refusals if refusal]


def test_the_name_of_the_folder_is_in_no_plan(dry: Any, tmp_path: Any) -> None:
    x = dry.tensor("x", [4])
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one, two = (dry(COPY, x, scratch=str(tmp_path / name)).plan.document for name in ("one", "two"))
    assert one == two
