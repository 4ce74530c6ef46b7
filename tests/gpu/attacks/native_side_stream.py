"""Attack: native_side_stream

Tries: makes a non-blocking stream through the runtime's C functions and copies on it.
Gains: Events on the stream of the caller see nothing.
Threats: T2
Answer: No runtime answers where host code is traced, and what is not in the plan is not run.
"""

import contextlib
import ctypes

import torch

NON_BLOCKING, DEVICE_TO_DEVICE = 1, 3


def run(x):
    out = torch.empty_like(x)
    with contextlib.suppress(OSError):
        runtime = ctypes.CDLL("libcudart.so")
        stream = ctypes.c_void_p()
        runtime.cudaStreamCreateWithFlags(ctypes.byref(stream), NON_BLOCKING)
        to, source = ctypes.c_void_p(out.data_ptr()), ctypes.c_void_p(x.data_ptr())
        runtime.cudaMemcpyAsync(to, source, x.numel() * 4, DEVICE_TO_DEVICE, stream)
    return out
