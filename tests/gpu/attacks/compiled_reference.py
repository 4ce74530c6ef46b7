"""Attack: compiled_reference

Tries: lets torch.compile make the kernel out of the reference.
Gains: A kernel of the compiler's for no work.
Threats: F5
Answer: Without a GPU there is nothing to compile for. With one a live trace records the kernels of
the compiler, which are judged like any other; the compiled reference is one of the baselines.
"""

import torch


@torch.compile
def reference(x):
    return torch.softmax(x, dim=-1)


def run(x):
    return reference(x)
