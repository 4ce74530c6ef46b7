"""Attack: host_callback

Tries: enqueues a host function that is to write the output later.
Gains: The work lies outside the events.
Threats: T7
Answer: A plan holds kernels, fills and copies only. Nothing launched means an output that no
launch refers to; a live trace refuses host nodes.
"""

import ctypes

import torch


def run(x):
    out = torch.empty_like(x)
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)
    try:
        runtime = ctypes.CDLL("libcudart.so")
        runtime.cudaLaunchHostFunc(None, callback, None)
    except OSError:
        pass
    return out
