// softmax, warp: one warp a row, four rows a block.
//
//! dtypes float32, float16, bfloat16
//! launch softmax<<<cdiv(rows, 4), (32, 4)>>>(x, out, rows, cols)

#if OUROBOROS_DTYPE_float16
#include <cuda_fp16.h>
#elif OUROBOROS_DTYPE_bfloat16
#include <cuda_bf16.h>
#endif

using T = OUROBOROS_DTYPE;

struct Sum {
  static __device__ float identity() { return 0.0f; }
  static __device__ float join(float a, float b) { return a + b; }
};

struct Maximum {
  static __device__ float identity() { return -__int_as_float(0x7f800000); }
  static __device__ float join(float a, float b) { return fmaxf(a, b); }
};

template <class Operation>
__device__ float over_warp(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value = Operation::join(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}

extern "C" __global__ void softmax(const T* x, T* out, int rows, int cols) {
  const long long row = static_cast<long long>(blockIdx.x) * 4 + threadIdx.y;
  if (row >= rows) return;
  x += row * cols;
  out += row * cols;
  float peak = Maximum::identity();
  for (int i = threadIdx.x; i < cols; i += 32) peak = fmaxf(peak, static_cast<float>(x[i]));
  peak = over_warp<Maximum>(peak);
  float total = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) total += expf(static_cast<float>(x[i]) - peak);
  total = over_warp<Sum>(total);
  for (int i = threadIdx.x; i < cols; i += 32) {
    out[i] = static_cast<T>(expf(static_cast<float>(x[i]) - peak) / total);
  }
}
