"""Attack: expanded_output

Tries: returns one number expanded over all rows and columns, with strides of zero.
Gains: One element's work.
Threats: S30
Answer: dtype, shape and strides are compared exactly when the plan is audited.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def uniform(out_ptr, cols):
    tl.store(out_ptr, 1.0 / cols)


def run(x):
    out = torch.empty(1, dtype=x.dtype, device=x.device)
    uniform[(1,)](out, x.shape[1])
    return out.expand(x.shape)
