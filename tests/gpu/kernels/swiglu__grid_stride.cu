// swiglu, grid_stride: a fixed number of blocks, each thread takes every n-th element.
//
//! dtypes float32, float16, bfloat16
//! launch swiglu<<<min(cdiv(out.elements, 256), 1024), 256>>>(gate, up, out, out.elements: int64)

#if OUROBOROS_DTYPE_float16
#include <cuda_fp16.h>
#elif OUROBOROS_DTYPE_bfloat16
#include <cuda_bf16.h>
#endif

using T = OUROBOROS_DTYPE;

extern "C" __global__ void swiglu(const T* gate, const T* up, T* out, long long count) {
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    const float g = static_cast<float>(gate[i]);
    out[i] = static_cast<T>(g / (1.0f + expf(-g)) * static_cast<float>(up[i]));
  }
}
