// gelu, pairs: half2 and bfloat162 loads, one at the end by itself.
//
//! dtypes float32, float16, bfloat16
//! if n > 0: launch gelu<<<cdiv(cdiv(n, 2), 256), 256>>>(x, out, n)

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#if OUROBOROS_DTYPE_float16
using Pair = __half2;
#elif OUROBOROS_DTYPE_bfloat16
using Pair = __nv_bfloat162;
#else
using Pair = float2;
#endif
using T = OUROBOROS_DTYPE;

__device__ float one(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f)); }

extern "C" __global__ void gelu(const T* x, T* out, int n) {
  const int pair = blockIdx.x * blockDim.x + threadIdx.x;
  const bool aligned =
      ((reinterpret_cast<unsigned long long>(x) | reinterpret_cast<unsigned long long>(out)) %
       sizeof(Pair)) == 0;
  if (aligned && 2 * pair + 1 < n) {
    Pair both = reinterpret_cast<const Pair*>(x)[pair];
    both.x = static_cast<T>(one(static_cast<float>(both.x)));
    both.y = static_cast<T>(one(static_cast<float>(both.y)));
    reinterpret_cast<Pair*>(out)[pair] = both;
  } else {
    for (int i = 2 * pair; i < min(n, 2 * pair + 2); ++i) {
      out[i] = static_cast<T>(one(static_cast<float>(x[i])));
    }
  }
}
