"""Candidates that are traced on a GPU, in their sandbox, replayed by the executor.

tests/python/test_live_candidates.py has what needs no GPU: which candidates come here, and what
becomes of those that misbehave.
"""

from __future__ import annotations

import importlib.util
import shutil
import textwrap
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import ouroboros  # noqa: E402 - it needs PyTorch
from ouroboros.trace.command import make_live_tracer  # noqa: E402
from ouroboros.trace.plan_file import read_plan  # noqa: E402

NVCC = shutil.which("nvcc") or Path("/usr/local/cuda/bin/nvcc").exists()

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA GPU here"),
]

EAGER = """
import torch

def run(x):
    return torch.softmax(x, -1)
"""

COMPILED = """
import torch

@torch.compile
def run(x):
    return torch.softmax(x * 2 / 2, -1)
"""

# A dry trace refuses the first line of run.
AFTER_ATEN = """
import torch, triton, triton.language as tl

@triton.autotune([triton.Config({}, num_warps=warps) for warps in (1, 4)], key=["columns"])
@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * columns + at, powers / tl.sum(powers, 0), mask=at < columns)

def run(x):
    x = x + 0
    out = torch.empty_like(x)
    if x.numel():
        rows = x.numel() // x.shape[-1]
        softmax[(rows,)](x, out, x.shape[-1], BLOCK=triton.next_power_of_2(x.shape[-1]))
    return out
"""

INLINE = '''
import torch
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <c10/cuda/CUDAStream.h>
__global__ void softmax(const float* x, float* out, int columns) {
  const float* row = x + (size_t)blockIdx.x * columns;
  float top = -INFINITY, sum = 0;
  for (int i = 0; i < columns; ++i) top = fmaxf(top, row[i]);
  for (int i = 0; i < columns; ++i) sum += expf(row[i] - top);
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    out[(size_t)blockIdx.x * columns + i] = expf(row[i] - top) / sum;
}
torch::Tensor launch(torch::Tensor x) {
  auto out = torch::empty_like(x);
  softmax<<<x.size(0), 64, 0, c10::cuda::getCurrentCUDAStream()>>>(
      x.data_ptr<float>(), out.data_ptr<float>(), x.size(1));
  return out;
}
"""
built = load_inline("built", cpp_sources="torch::Tensor launch(torch::Tensor x);",
                    cuda_sources=CUDA, functions=["launch"])

def run(x):
    return built.launch(x)
'''

# CuPy launches on streams of its own, unless it is given PyTorch's.
CUPY = '''
import cupy, torch

softmax = cupy.RawKernel("""
extern "C" __global__ void softmax(const float* x, float* out, int columns) {
  const float* row = x + (size_t)blockIdx.x * columns;
  float top = -1e30f, sum = 0;
  for (int i = 0; i < columns; ++i) top = fmaxf(top, row[i]);
  for (int i = 0; i < columns; ++i) sum += expf(row[i] - top);
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    out[(size_t)blockIdx.x * columns + i] = expf(row[i] - top) / sum;
}
""", "softmax")

def run(x):
    out = torch.empty_like(x)
    with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
        softmax((x.size(0),), (64,), (x.data_ptr(), out.data_ptr(), cupy.int32(x.size(1))))
    return out
'''

READS = EAGER.replace("torch.softmax(x, -1)", "x * x.sum().item()")

SOURCES = {
    "eager": (EAGER, "library"),
    "compiled": (COMPILED, "candidate"),
    "after_aten": (AFTER_ATEN, "candidate"),
    "inline": (INLINE, "candidate"),
    "cupy": (CUPY, "candidate"),
    "reads": (READS, ""),
}
SHAPES = [[64, 300], [3, 1000]]


@pytest.fixture(scope="module")
def traced() -> dict[str, Future[Any]]:
    """All sources at once: each is a process of its own, and some compile for long."""
    tracer = make_live_tracer(ouroboros.Limits())
    signatures = [[("x", "float32", shape)] for shape in SHAPES]

    def trace(source: str) -> Any:
        return tracer.trace(
            source.encode(), target="", signatures=signatures, outputs=["out"], language="python"
        )

    pool = ThreadPoolExecutor(len(SOURCES))
    absent = {"inline": not NVCC, "cupy": importlib.util.find_spec("cupy") is None}
    wanted = [name for name in SOURCES if not absent.get(name)]
    futures = {name: pool.submit(trace, SOURCES[name][0]) for name in wanted}
    pool.shutdown(wait=False)
    return futures


def results_of(traced: dict[str, Future[Any]], name: str) -> Any:
    if name not in traced:
        pytest.skip({"inline": "there is no nvcc here", "cupy": "CuPy is not installed"}[name])
    return traced[name].result(timeout=200)


def test_a_process_that_traces_is_confined_as_far_as_cuda_allows(
    traced: dict[str, Future[Any]],
) -> None:
    missing = results_of(traced, "eager")[0]["missing"]
    for part in ("reaches the GPU's driver", "no pid namespace", "address space is not limited"):
        assert any(part in sentence for sentence in missing), missing


@pytest.mark.parametrize("name", ["eager", "compiled", "after_aten", "inline", "cupy"])
def test_what_is_captured_in_the_sandbox_replays_to_the_same(
    traced: dict[str, Future[Any]], name: str
) -> None:
    results = results_of(traced, name)
    runner = ouroboros._ouroboros.PlanRunner()
    for shape, result in zip(SHAPES, results, strict=True):
        report = f"{name} {shape}: {result['refusal']} {result['log'][-1500:]}"
        assert result["refusal"] is None, report
        (plan,) = result["variants"]
        document = read_plan(plan)[0]
        origins = {one["origin"] for one in document["modules"]}
        assert SOURCES[name][1] in origins, document["launches"]
        assert document["origin"] == "live_trace"
        if name in ("compiled", "inline", "cupy"):
            assert origins == {"candidate"}, [one.get("function") for one in document["launches"]]
        x = torch.randn(shape)
        (out,), _ = runner.run(plan, [x])
        torch.testing.assert_close(out, torch.softmax(x, -1), msg=lambda text: f"{name}: {text}")


def test_a_source_that_reads_from_the_device_is_refused(traced: dict[str, Future[Any]]) -> None:
    for result in results_of(traced, "reads"):
        assert result["refusal"]["kind"] == "synchronises", result["refusal"]
        assert "return x * x.sum().item()" in result["refusal"]["traceback"]


def judge(source: str, language: str, allowed: bool, until: str) -> ouroboros.Verdict:
    verdict = ouroboros.verify(
        textwrap.dedent(source),
        lambda x: torch.softmax(x, -1),
        inputs={"x": "rows cols"},
        dtypes=["float32"],
        timed=[{"rows": 64, "cols": 100}],
        library_kernels="allow" if allowed else "forbid",
        language=language,
        until=until,
    )
    print(verdict.explain())
    return verdict


def test_eager_mode_is_a_candidate_where_libraries_are_allowed() -> None:
    verdict = judge(EAGER, "python", allowed=True, until="sweep")
    assert verdict.status is ouroboros.Status.ok, verdict.summary
    assert verdict.provenance.trace == "live"
    assert {one.origin for one in verdict.compilation.kernels} == {"library"}
    assert verdict.correctness.cases_passed == verdict.correctness.cases_total > 8


@pytest.mark.parametrize(("source", "language"), [(EAGER, "python"), (AFTER_ATEN, "triton")])
def test_library_kernels_are_rejected_by_name_where_they_are_forbidden(
    source: str, language: str
) -> None:
    verdict = judge(source, language, allowed=False, until="compile")
    assert verdict.status is ouroboros.Status.rejected, verdict.summary
    assert verdict.provenance.trace == "live"
    (finding,) = [one for one in verdict.findings if one.kind == "library_kernel"]
    assert any(word in finding.evidence.lower() for word in ("softmax", "elementwise")), finding


def test_a_triton_candidate_that_a_dry_trace_cannot_follow_is_judged() -> None:
    verdict = judge(AFTER_ATEN, "triton", allowed=True, until="sweep")
    assert verdict.status is ouroboros.Status.ok, verdict.summary
    assert verdict.provenance.trace == "live"
    assert {one.origin for one in verdict.compilation.kernels} == {"candidate", "library"}
    assert "live_trace" in [one.kind for one in verdict.findings]
