"""Kernels that keep a memo of their inputs, by where they keep it.

Each skips most of its work where it finds its own mark of the run before. Tests of the GPU and
benchmarks/gpu/clock.py compare them with the same kernel without a memo.
"""

from __future__ import annotations

import ouroboros
import torch
from ouroboros import Axis

CELL = {"n": 132 * 128}

_SOURCE = """
//! dtypes float32
%(statements)s
//! launch work<<<cdiv(n, 128), 128>>>(x, out, n%(arguments)s)
%(globals)s
extern "C" __global__ void work(const float* x, float* out, int n%(parameters)s) {
  const int at = blockIdx.x * 128 + threadIdx.x;
  const unsigned key = __float_as_uint(x[blockIdx.x * 128]) | 1u;
  %(locals)s
  volatile unsigned* mark = %(mark)s;
  float value = at < n ? x[at] : 0.0f;
  const float factor = one, term = zero;
  if (%(known)s) {
    for (int i = 0; i < 40000; ++i) value = value * factor + term;
  }
  %(remember)s
  if (at < n) out[at] = 2.0f * value;
}
"""

# A frame's address, where the compiler does not see that the frame has ended.
_DEEP = """
__device__ __noinline__ unsigned long long deep(int depth) {
  volatile unsigned kept[8];
  kept[depth & 7] = depth;
  if (depth > 0) return deep(depth - 1) + (kept[depth & 7] - depth);
  unsigned long long at = reinterpret_cast<unsigned long long>(&kept[0]);
  asm volatile("" : "+l"(at));
  return at - 64;
}
"""

# As many registers as most kernels of so many threads use: none of them is set where `n` is small,
# so that each is what somebody left there.
_REGISTERS = range(40)
_UNSET = (
    'asm volatile("{.reg .pred p; setp.ne.s32 p, %%1, 0; @p ld.volatile.global.u32 %%0, [%%2];}"'
    ' : "=r"(left%d) : "r"(n >> 30), "l"(x));'
)

PLACES = {
    "globals": {"globals": "__device__ unsigned kept[1024];", "mark": "&kept[blockIdx.x % 1024]"},
    "beside globals": {
        "globals": "__device__ unsigned kept[1024];",
        "mark": "&kept[1024 + 4096 + blockIdx.x]",
    },
    "scratch": {
        "statements": "//! scratch kept: uint32[1024]",
        "arguments": ", kept",
        "parameters": ", unsigned* kept",
        "mark": "&kept[blockIdx.x % 1024]",
    },
    "shared memory": {"locals": "__shared__ unsigned kept[64];", "mark": "&kept[7]"},
    "local memory": {"locals": "volatile unsigned kept[64];", "mark": "&kept[key % 64]"},
    "a large frame": {"locals": "volatile unsigned kept[5120];", "mark": "&kept[key % 5120]"},
    "below the frame": {
        "locals": "volatile unsigned kept[64]; kept[key % 64] = key;"
        " unsigned long long below = reinterpret_cast<unsigned long long>(&kept[0]);"
        ' asm volatile("" : "+l"(below));',
        "mark": "reinterpret_cast<volatile unsigned*>(below - 256 - kept[key % 64] + key)",
    },
    "a stack of unknown depth": {
        "globals": _DEEP,
        "mark": "reinterpret_cast<volatile unsigned*>(deep(4 + n / (1 << 30)))",
    },
    "registers": {
        "locals": "__shared__ volatile unsigned relay[128];"
        + "".join(f"unsigned left{i}; {_UNSET % i}" for i in _REGISTERS)
        + "__syncthreads();",
        "known": " && ".join(f"left{i} != key" for i in _REGISTERS),
        # What is read before the barrier and written behind it is in registers in between.
        "remember": "relay[threadIdx.x] = key;"
        + "".join(f"unsigned mark{i} = relay[threadIdx.x];" for i in _REGISTERS)
        + "__syncthreads();"
        + "".join(f"relay[threadIdx.x] = mark{i};" for i in _REGISTERS),
    },
}


def source(**parts: str) -> str:
    """Returns a kernel that remembers in some place; honest without one."""
    filled = {
        "statements": "//!",
        "arguments": "",
        "parameters": "",
        "globals": "",
        "locals": "",
        "mark": "nullptr",
        "known": "*mark != key" if parts else "true",
        "remember": "*mark = key;" if parts else "",
        **parts,
    }
    filled["globals"] += "\n__device__ volatile float one = 1.0f, zero = 0.0f;"
    return (_SOURCE % filled).replace("//!\n", "")


@ouroboros.problem(inputs={"x": ("n",)}, axes=[Axis("n", 1, 1 << 20)], timed=[CELL], name="double")
def double(x: torch.Tensor) -> torch.Tensor:
    """Twice the input."""
    return 2 * x
