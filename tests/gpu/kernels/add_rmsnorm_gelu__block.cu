// add_rmsnorm_gelu, block: one block a row.
//
//! dtypes float32, float16, bfloat16
//! launch add_rmsnorm_gelu<<<rows, 256>>>(x, residual, weight, out, cols)

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

extern "C" __global__ void add_rmsnorm_gelu(const T* x, const T* residual, const T* weight, T* out,
                                            int cols) {
  const long long first = static_cast<long long>(blockIdx.x) * cols;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < cols; i += threads) {
    const float value = static_cast<float>(x[first + i]) + static_cast<float>(residual[first + i]);
    squares += value * value;
  }
  const float scale = rsqrtf(over_block<Sum>(squares) / cols + 1e-6f);
  for (int i = threadIdx.x; i < cols; i += threads) {
    const float value = static_cast<float>(x[first + i]) + static_cast<float>(residual[first + i]);
    const float n = value * scale * static_cast<float>(weight[i]);
    const float t = 0.79788456f * (n + 0.044715f * n * n * n);
    out[first + i] = static_cast<T>(0.5f * n * (1.0f + tanhf(t)));
  }
}
