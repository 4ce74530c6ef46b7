// softmax, online: one block a row, maximum and sum in one pass.
//
//! dtypes float32, float16, bfloat16
//! launch softmax<<<rows, 256>>>(x, out, cols)

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

struct Maximum {
  static __device__ float identity() { return -__int_as_float(0x7f800000); }
  static __device__ float join(float a, float b) { return fmaxf(a, b); }
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

extern "C" __global__ void softmax(const T* x, T* out, int cols) {
  const long long first = static_cast<long long>(blockIdx.x) * cols;
  float peak = Maximum::identity();
  float total = 0.0f;
  for (int i = threadIdx.x; i < cols; i += threads) {
    const float value = static_cast<float>(x[first + i]);
    const float higher = fmaxf(peak, value);
    // A thread that has seen -inf alone has nothing to rescale.
    const float shift = higher == Maximum::identity() ? 0.0f : higher;
    total = total * expf(peak - shift) + expf(value - shift);
    peak = higher;
  }
  const float highest = over_block<Maximum>(peak);
  total = over_block<Sum>(peak == Maximum::identity() ? total : total * expf(peak - highest));
  for (int i = threadIdx.x; i < cols; i += threads) {
    out[first + i] = static_cast<T>(expf(static_cast<float>(x[first + i]) - highest) / total);
  }
}
