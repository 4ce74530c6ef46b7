"""Candidates whose verdicts are known, and how to judge each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import ouroboros
from ouroboros import Referee, problems
from ouroboros.trace.command import make_tracer

__all__ = ["LARGE", "MIX", "Known", "judge"]

ROOT = Path(__file__).resolve().parents[2]
HOST, ATTACKS = ROOT / "examples/kernels", ROOT / "tests/attacks"
GPU, GPU_ATTACKS = ROOT / "tests/gpu/kernels", ROOT / "tests/gpu/attacks"

TRITON = """
import torch, triton, triton.language as tl

@triton.jit(do_not_specialize=["n"])
def scale(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask) * 2, mask=mask)

def run(x):
    out = torch.empty_like(x)
    if x.numel():
        scale[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out
"""

CUDA = """
//! dtypes float32
//! launch scale<<<cdiv(out.elements, 256), 256>>>(x, out, out.elements: int32)

extern "C" __global__ void scale(const float* x, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = 2 * x[i];
}
"""


@dataclass(frozen=True)
class Known:
    """A candidate and the one status that is right for it.

    Attributes:
        kind: The referee that judges it: "gpu", which has host code too, or "interpreted".
        problem: Of those that ship with the library; "scale" is the fake driver's, and "scale,
            large" has a timed shape of 80 MiB.
    """

    name: str
    kind: str
    status: str
    source: str | Path
    problem: str = "scale"
    until: str = "sweep"
    language: str | None = None
    limits: dict[str, float] = field(default_factory=dict)


def _kernel(function: str, text: str) -> str:
    """The same candidate with another of the fake driver's kernels (tests/fake_cuda)."""
    return text.replace("scale", function)


_host = partial(Known, kind="gpu", problem="softmax")
_gpu = partial(Known, kind="gpu")
_interpreted = partial(Known, kind="interpreted")

MIX = (
    _host("host honest", status="ok", source=HOST / "softmax.cpp"),
    _host("host honest, timed", status="ok", source=HOST / "softmax.cpp", until="time"),
    _host("host zeros", status="incorrect", source=ATTACKS / "zero_output.cpp"),
    _host("host reads a file", status="rejected", source=ATTACKS / "read_file.cpp"),
    _host("host aborts", status="runtime_error", source=ATTACKS / "abort_call.cpp"),
    _host("host loops", status="timeout", source=ATTACKS / "infinite_loop.cpp",
          limits={"replay_seconds": 0.5}),
    _host("host does not compile", status="compile_error", source="int x = ;\n", language="cpp"),
    _gpu("triton honest", status="ok", source=TRITON, until="time"),
    _gpu("triton skips its tail", status="incorrect", source=_kernel("skip_tail", TRITON)),
    _gpu("triton traps", status="runtime_error", source=_kernel("trap", TRITON)),
    _gpu("triton on the host", status="rejected",
         source="import torch, triton\n\ndef run(x):\n    return x + x\n"),
    _gpu("triton ends its process", status="runtime_error", language="triton",
         source="import os\n" + TRITON + "\nos._exit(0)\n"),
    _gpu("cuda honest", status="ok", source=CUDA, language="cuda"),
    _gpu("cuda skips its tail", status="incorrect", source=_kernel("skip_tail", CUDA),
         language="cuda"),
    _gpu("cuda does not compile", status="compile_error", source=CUDA + "int x = ;\n",
         language="cuda"),
    _interpreted("interpreted honest", status="ok", source=GPU / "swiglu__row.py",
                 problem="swiglu"),
    _interpreted("interpreted skips a block", status="incorrect",
                 source=GPU_ATTACKS / "skip_last_block.py", problem="rmsnorm"),
)  # fmt: skip

LARGE = _gpu("triton honest, large", status="ok", source=TRITON, problem="scale, large",
             until="time")  # fmt: skip


def _plan_of(limits: dict[str, float]) -> Callable[[Any], bytes]:
    """Eager mode's stand-in on the fake driver: the honest kernel, traced as candidates are."""

    def plan(signature: Any) -> bytes:
        inputs = [(b["name"], b["dtype"], b["shape"]) for b in signature if b["role"] == "input"]
        tracer = make_tracer(ouroboros.Limits(**limits))
        assert tracer is not None
        (result,) = tracer.trace(
            TRITON.encode(), target="sm_90", signatures=[inputs], outputs=["out"]
        )
        found: bytes = result["variants"][0]
        return found

    return plan


def judge(known: Known, limits: dict[str, float], scratch: str = "") -> ouroboros.Verdict:
    """Judges one candidate under `limits` and its own."""
    on_fake = known.problem.startswith("scale")
    rows, cols = (1024, 20480) if known.problem == "scale, large" else (64, 100)
    problem = (
        problems.from_callable(
            lambda x: x * 2,
            inputs={"x": "rows cols"},
            dtypes=["float32"],
            timed=[{"rows": rows, "cols": cols}],
        )
        if on_fake
        else problems.load(known.problem)
    )
    referee = Referee(
        until=known.until,  # type: ignore[arg-type]
        dtypes=["float32"],
        baselines=[ouroboros.Baseline("eager", plan=_plan_of(limits))] if on_fake else ["eager"],
        target="sm_90" if known.kind == "interpreted" else "",
        timing={"looks": [16], "budget_seconds": 3.0},
        limits={**limits, **known.limits},
        scratch=scratch,
    )
    return referee.judge(problem, known.source, language=known.language)  # type: ignore[arg-type]
