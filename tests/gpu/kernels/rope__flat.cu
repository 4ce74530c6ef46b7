// rope, flat: one thread a pair.
//
//! dtypes float32, float16, bfloat16
//! launch rope<<<cdiv(rows * half, 256), 256>>>(x, cos, sin, out, rows * half: int64, half)

#if OUROBOROS_DTYPE_float16
#include <cuda_fp16.h>
#elif OUROBOROS_DTYPE_bfloat16
#include <cuda_bf16.h>
#endif

using T = OUROBOROS_DTYPE;

extern "C" __global__ void rope(const T* x, const T* cos, const T* sin, T* out, long long pairs,
                                int half) {
  const long long pair = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (pair >= pairs) return;
  const long long at = pair + pair / half * half;
  const float a = static_cast<float>(x[at]);
  const float b = static_cast<float>(x[at + half]);
  const float c = static_cast<float>(cos[pair]);
  const float s = static_cast<float>(sin[pair]);
  out[at] = static_cast<T>(a * c - b * s);
  out[at + half] = static_cast<T>(b * c + a * s);
}
