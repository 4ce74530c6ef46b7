// highway, carried: what was given, and the gate's share of the difference.
//
//! dtypes float32, bfloat16
//! launch highway<<<cdiv(n, 256), 256>>>(x, made, gate, out, n)

#if OUROBOROS_DTYPE_bfloat16
#include <cuda_bf16.h>
#endif

using T = OUROBOROS_DTYPE;

extern "C" __global__ void highway(const T* x, const T* made, const T* gate, T* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float t = 1.0f / (1.0f + expf(-static_cast<float>(gate[i])));
  const float from = static_cast<float>(x[i]);
  out[i] = static_cast<T>(fmaf(t, static_cast<float>(made[i]) - from, from));
}
