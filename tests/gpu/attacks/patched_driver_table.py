"""Attack: patched_driver_table

Tries: overwrites the driver's timing functions in its process's memory.
Gains: Every run takes a millionth of a millisecond.
Threats: T11
Answer: The process whose driver keeps time is another one: this one's memory is its own.
"""

import contextlib
import ctypes

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


def softmax(x):
    rows, cols = x.shape
    out = torch.empty_like(x)
    softmax_kernel[(rows,)](x, out, cols, BLOCK=triton.next_power_of_2(cols))
    return out


ALWAYS = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_float))(lambda _: 0)


def overwrite(name):
    function = getattr(ctypes.CDLL("libcuda.so.1"), name)
    address = ctypes.cast(function, ctypes.c_void_p).value
    ctypes.CDLL(None).mprotect(ctypes.c_void_p(address & ~4095), 8192, 7)
    ctypes.memmove(address, ALWAYS, 8)


for timer in ("cuEventElapsedTime", "cuEventElapsedTime_v2", "cuEventRecord"):
    with contextlib.suppress(OSError, AttributeError):
        overwrite(timer)


def run(x):
    return softmax(x)
