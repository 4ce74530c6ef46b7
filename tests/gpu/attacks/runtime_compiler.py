"""Attack: runtime_compiler

Tries: compiles CUDA C++ at run time and launches it through the driver's own functions.
Gains: Kernels that no tool of the evaluator has seen.
Threats: P21
Answer: No driver answers where host code is traced, and what is not in the plan is not run.
"""

import contextlib
import ctypes

import torch

SOURCE = b'extern "C" __global__ void softmax(const float* x, float* out, int cols) {}'


def run(x):
    out = torch.empty_like(x)
    with contextlib.suppress(OSError):
        compiler, driver = ctypes.CDLL("libnvrtc.so.13"), ctypes.CDLL("libcuda.so.1")
        program = ctypes.c_void_p()
        compiler.nvrtcCreateProgram(ctypes.byref(program), SOURCE, b"s.cu", 0, None, None)
        compiler.nvrtcCompileProgram(program, 0, None)
        image = ctypes.create_string_buffer(1 << 20)
        compiler.nvrtcGetPTX(program, image)
        module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        driver.cuModuleLoadData(ctypes.byref(module), image)
        driver.cuModuleGetFunction(ctypes.byref(kernel), module, b"softmax")
        driver.cuLaunchKernel(kernel, x.shape[0], 1, 1, 32, 1, 1, 0, None, None, None)
    return out
