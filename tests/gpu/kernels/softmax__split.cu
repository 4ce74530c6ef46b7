// softmax, split: chunks of rows are reduced into scratch, then joined.
//
//! dtypes float32, float16, bfloat16
//! let chunks = cdiv(cols, 1024)
//! scratch partial: float32[rows, chunks, 2]
//! launch reduce_chunks<<<(rows, chunks), 256>>>(x, partial, cols)
//! launch finish<<<(rows, chunks), 256>>>(x, partial, out, cols)

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

extern "C" __global__ void reduce_chunks(const T* x, float* partial, int cols) {
  const long long row = blockIdx.x;
  const int begin = blockIdx.y * 1024;
  const int end = min(begin + 1024, cols);
  float peak = Maximum::identity();
  for (int i = begin + threadIdx.x; i < end; i += threads) {
    peak = fmaxf(peak, static_cast<float>(x[row * cols + i]));
  }
  peak = over_block<Maximum>(peak);
  const float shift = peak == Maximum::identity() ? 0.0f : peak;
  float total = 0.0f;
  for (int i = begin + threadIdx.x; i < end; i += threads) {
    total += expf(static_cast<float>(x[row * cols + i]) - shift);
  }
  total = over_block<Sum>(total);
  if (threadIdx.x == 0) {
    partial[(row * gridDim.y + blockIdx.y) * 2] = peak;
    partial[(row * gridDim.y + blockIdx.y) * 2 + 1] = total;
  }
}

extern "C" __global__ void finish(const T* x, const float* partial, T* out, int cols) {
  const long long row = blockIdx.x;
  partial += row * gridDim.y * 2;
  float peak = Maximum::identity();
  for (int i = threadIdx.x; i < gridDim.y; i += threads) peak = fmaxf(peak, partial[2 * i]);
  peak = over_block<Maximum>(peak);
  float total = 0.0f;
  for (int i = threadIdx.x; i < gridDim.y; i += threads) {
    total += partial[2 * i + 1] * expf(partial[2 * i] - peak);
  }
  total = over_block<Sum>(total);
  const int begin = blockIdx.y * 1024;
  const int end = min(begin + 1024, cols);
  for (int i = begin + threadIdx.x; i < end; i += threads) {
    out[row * cols + i] =
        static_cast<T>(expf(static_cast<float>(x[row * cols + i]) - peak) / total);
  }
}
