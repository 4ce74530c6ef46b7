"""Attack: native_library_call

Tries: calls the library's softmax beneath Python, where no search for torch.softmax finds it.
Gains: The library's speed for no work.
Threats: F2
Answer: Operators are seen in the dispatcher, whoever calls them. On a GPU the kernel in the plan is
the library's by origin and by name.
"""

import torch


def run(x):
    return torch._C._VariableFunctions.softmax(x, -1)
