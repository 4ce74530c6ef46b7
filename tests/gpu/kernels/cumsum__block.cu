// cumsum, block: one block a row, tile by tile with a carry.
//
//! dtypes float32, float16, bfloat16
//! launch cumsum<<<rows, 256>>>(x, out, cols)

#if OUROBOROS_DTYPE_float16
#include <cuda_fp16.h>
#elif OUROBOROS_DTYPE_bfloat16
#include <cuda_bf16.h>
#endif

using T = OUROBOROS_DTYPE;

constexpr int threads = 256;

extern "C" __global__ void cumsum(const T* x, T* out, int cols) {
  __shared__ float sums[threads];
  const long long first = static_cast<long long>(blockIdx.x) * cols;
  float carry = 0.0f;
  for (int start = 0; start < cols; start += threads) {
    const int i = start + threadIdx.x;
    sums[threadIdx.x] = i < cols ? static_cast<float>(x[first + i]) : 0.0f;
    __syncthreads();
    for (int offset = 1; offset < threads; offset *= 2) {
      const float before = threadIdx.x >= offset ? sums[threadIdx.x - offset] : 0.0f;
      __syncthreads();
      sums[threadIdx.x] += before;
      __syncthreads();
    }
    if (i < cols) out[first + i] = static_cast<T>(carry + sums[threadIdx.x]);
    carry += sums[threads - 1];
    __syncthreads();
  }
}
