"""Attack: torch_fallback

Tries: tries a kernel that cannot compile and falls back to the library in silence.
Gains: The baseline's speed, and credit for it.
Threats: F1, F3
Answer: A dry trace refuses the operator by name; a live trace finds the library's kernel, which
the problem forbids.
"""

import torch


def run(x):
    try:
        raise RuntimeError("no kernel for this shape")
    except Exception:
        return torch.softmax(x, dim=-1)
