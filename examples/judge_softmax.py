"""Judges the softmax kernel of this folder, and a reference of your own making.

python examples/judge_softmax.py
"""

from pathlib import Path

import ouroboros
import torch

KERNELS = Path(__file__).parent / "kernels"

# A problem that ships with the library, by name.
verdict = ouroboros.verify(KERNELS / "softmax.cpp", "softmax")
print(verdict.explain())
assert verdict.status is ouroboros.Status.ok, verdict.summary


# A problem of your own: a function on tensors and what its inputs look like.
@ouroboros.problem(inputs={"x": "rows cols"}, timed=[{"rows": 256, "cols": 512}])
def scaled(x: torch.Tensor) -> torch.Tensor:
    """2 x + 1, element by element."""
    return 2 * x + 1


SOURCE = """
extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows * cols; ++i) out[i] = 2 * x[i] + 1;
}
"""
verdict = ouroboros.verify(SOURCE, scaled, until="sweep")
print(verdict.summary)
assert verdict.status is ouroboros.Status.ok, verdict.summary

# What a model would be told about a mistake, and what a trainer would pay for it.
verdict = ouroboros.verify(SOURCE.replace("+ 1", "+ 1.001f"), scaled, until="sweep")
print(verdict.feedback())
print("reward:", verdict.reward())
assert verdict.status is ouroboros.Status.incorrect
