// layernorm, block: one block a row, two passes for the statistics.
//
//! dtypes float32, float16, bfloat16
//! launch layernorm<<<rows, 256>>>(x, weight, bias, out, cols)

#if OUROBOROS_DTYPE_float16
#include <cuda_fp16.h>
#elif OUROBOROS_DTYPE_bfloat16
#include <cuda_bf16.h>
#endif

using T = OUROBOROS_DTYPE;

constexpr int threads = 256;

struct Sum {
  static __device__ float identity() { return 0.0f; }
  static __device__ float join(float a, float b) { return a + b; }
};

/// Every thread gets the result.
template <class Operation>
__device__ float over_block(float value) {
  __shared__ float parts[threads / 32];
  for (int offset = 16; offset > 0; offset /= 2) {
    value = Operation::join(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = Operation::identity();
  for (int i = 0; i < threads / 32; ++i) value = Operation::join(value, parts[i]);
  __syncthreads();
  return value;
}

extern "C" __global__ void layernorm(const T* x, const T* weight, const T* bias, T* out, int cols) {
  const long long first = static_cast<long long>(blockIdx.x) * cols;
  float total = 0.0f;
  for (int i = threadIdx.x; i < cols; i += threads) total += static_cast<float>(x[first + i]);
  const float mean = over_block<Sum>(total) / cols;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < cols; i += threads) {
    const float away = static_cast<float>(x[first + i]) - mean;
    squares += away * away;
  }
  const float scale = rsqrtf(over_block<Sum>(squares) / cols + 1e-5f);
  for (int i = threadIdx.x; i < cols; i += threads) {
    const float n =
        (static_cast<float>(x[first + i]) - mean) * scale * static_cast<float>(weight[i]) +
        static_cast<float>(bias[i]);
    out[first + i] = static_cast<T>(n);
  }
}
