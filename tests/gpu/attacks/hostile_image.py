"""Attack: hostile_image

Tries: puts bytes of its own in the place of the compiled kernel: an ELF file with sections that
lie.
Gains: A reader of images that trusts them, and whatever it does then.
Threats: X3
Answer: Images are read with every bound checked; what is no cubin is the candidate's fault.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, out_ptr, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    offsets = tl.arange(0, BLOCK)
    mask = offsets < cols
    x = tl.load(x_ptr + row * cols + offsets, mask=mask, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(out_ptr + row * cols + offsets, e / tl.sum(e, axis=0), mask=mask)


def run(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    arguments = {"grid": (rows,), "BLOCK": triton.next_power_of_2(cols)}
    kernel = softmax_kernel.warmup(x, out, cols, **arguments)
    image = bytearray(kernel.kernel)
    image[40:48] = (2**64 - 64).to_bytes(8, "little")  # Where the section headers are to lie.
    image[60:62] = (65535).to_bytes(2, "little")  # How many there are.
    kernel.kernel = bytes(image)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=arguments["BLOCK"])
    return out
