"""Kernels that keep a memo of their inputs, in every place where one might outlive a launch.

Each skips most of its work where it finds its own mark. A memo is worth nothing, because what keeps
it is cleared and because inputs are fresh; or it is found, because the second meeting is quicker.
"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import ouroboros  # noqa: E402 - it needs PyTorch
from ouroboros import Axis  # noqa: E402

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA GPU here"),
]

CELL = {"n": 132 * 128}

SOURCE = """
//! dtypes float32
%(statements)s
//! launch work<<<cdiv(n, 128), 128>>>(x, out, n%(arguments)s)
%(globals)s
extern "C" __global__ void work(const float* x, float* out, int n%(parameters)s) {
  const int at = blockIdx.x * 128 + threadIdx.x;
  const unsigned key = __float_as_uint(x[blockIdx.x * 128]) | 1u;
  %(locals)s
  volatile unsigned* mark = %(mark)s;
  float value = at < n ? x[at] : 0.0f;
  const float factor = one, term = zero;
  if (%(known)s) {
    for (int i = 0; i < 40000; ++i) value = value * factor + term;
  }
  %(remember)s
  if (at < n) out[at] = 2.0f * value;
}
"""

PLACES = {
    "globals": {"globals": "__device__ unsigned kept[1024];", "mark": "&kept[blockIdx.x % 1024]"},
    "scratch": {
        "statements": "//! scratch kept: uint32[1024]",
        "arguments": ", kept",
        "parameters": ", unsigned* kept",
        "mark": "&kept[blockIdx.x % 1024]",
    },
    "shared memory": {"locals": "__shared__ unsigned kept[64];", "mark": "&kept[7]"},
    "local memory": {"locals": "volatile unsigned kept[64];", "mark": "&kept[key % 64]"},
}


def source(**parts: str) -> str:
    """Returns a kernel that remembers in some place; honest without one."""
    filled = {
        "statements": "//!",
        "arguments": "",
        "parameters": "",
        "globals": "",
        "locals": "",
        "mark": "nullptr",
        "known": "*mark != key" if parts else "true",
        "remember": "*mark = key;" if parts else "",
        **parts,
    }
    filled["globals"] += "\n__device__ volatile float one = 1.0f, zero = 0.0f;"
    return (SOURCE % filled).replace("//!\n", "")


@ouroboros.problem(inputs={"x": ("n",)}, axes=[Axis("n", 1, 1 << 20)], timed=[CELL], name="double")
def double(x: torch.Tensor) -> torch.Tensor:
    """Twice the input."""
    return 2 * x


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
