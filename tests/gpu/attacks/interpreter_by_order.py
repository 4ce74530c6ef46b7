"""Attack: interpreter_by_order

Tries: draws a number in each program, and sums 32 columns wherever programs do not come in order.
Gains: Nearly all of the reading, on a GPU; an interpreter's programs come one after another.
Threats: none of the catalogue
Answer: The interpreter's programs come in an order of chance, too.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def rmsnorm_kernel(x_ptr, weight_ptr, out_ptr, ticket_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    some = tl.where(tl.atomic_add(ticket_ptr, 1) == row, cols, tl.minimum(cols, 32))
    x = tl.load(x_ptr + row.to(tl.int64) * cols + offsets, mask=mask, other=0.0).to(tl.float32)
    weight = tl.load(weight_ptr + offsets, mask=mask, other=0.0).to(tl.float32)
    read = tl.where(offsets < some, x, 0.0)
    scale = tl.rsqrt(tl.sum(read * read, axis=0) / some + 1e-6)
    tl.store(out_ptr + row.to(tl.int64) * cols + offsets, x * scale * weight, mask=mask)


def run(x, weight):
    rows, cols = x.shape
    out = torch.empty_like(x)
    ticket = torch.zeros(1, dtype=torch.int32, device=x.device)
    block = triton.next_power_of_2(cols)
    rmsnorm_kernel[(rows,)](x, weight, out, ticket, cols, BLOCK=block)
    return out
