// mean_all, cooperative: one cooperative grid, which waits for itself between its two passes.
//
//! dtypes float32, float16, bfloat16
//! let blocks = min(64, cdiv(rows * cols, 256))
//! scratch partial: float32[blocks]
//! launch mean_all<<<blocks, 256, cooperative>>>(x, partial, out, rows * cols: int64)

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

using T = OUROBOROS_DTYPE;
namespace cg = cooperative_groups;

template <int threads>
__device__ float over_block(float value) {
  __shared__ float parts[threads];
  parts[threadIdx.x] = value;
  __syncthreads();
#pragma unroll
  for (int half = threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  return parts[0];
}

extern "C" __global__ void mean_all(const T* x, float* partial, T* out, long long count) {
  float sum = 0.0f;
  const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
  for (long long i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
    sum += static_cast<float>(x[i]);
  }
  sum = over_block<256>(sum);
  if (threadIdx.x == 0) partial[blockIdx.x] = sum;
  cg::this_grid().sync();
  if (blockIdx.x != 0) return;
  float total = threadIdx.x < gridDim.x ? partial[threadIdx.x] : 0.0f;
  total = over_block<256>(total);
  if (threadIdx.x == 0) *out = static_cast<T>(total / static_cast<float>(count));
}
