// geglu, flat: one thread an element.
//
//! dtypes float32, float16, bfloat16
//! launch geglu<<<cdiv(out.elements, 256), 256>>>(gate, up, out, out.elements: int64)

#if OUROBOROS_DTYPE_float16
#include <cuda_fp16.h>
#elif OUROBOROS_DTYPE_bfloat16
#include <cuda_bf16.h>
#endif

using T = OUROBOROS_DTYPE;

extern "C" __global__ void geglu(const T* gate, const T* up, T* out, long long count) {
  const long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float g = static_cast<float>(gate[i]);
  const float t = 0.79788456f * (g + 0.044715f * g * g * g);
  out[i] = static_cast<T>(0.5f * g * (1.0f + tanhf(t)) * static_cast<float>(up[i]));
}
