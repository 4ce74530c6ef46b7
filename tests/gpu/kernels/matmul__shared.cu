// matmul, shared: tiles in shared memory, each thread one element.
//
//! dtypes float32, float16, bfloat16
//! launch matmul<<<(cdiv(n, 16), cdiv(m, 16)), (16, 16)>>>(a, b, out, m, n, k)

#include <cuda_bf16.h>
#include <cuda_fp16.h>

using T = OUROBOROS_DTYPE;
constexpr int tile = 16;

extern "C" __global__ void matmul(const T* __restrict__ a, const T* __restrict__ b,
                                  T* __restrict__ c, int m, int n, int k) {
  __shared__ float as[tile][tile];
  __shared__ float bs[tile][tile + 1];
  const int row = blockIdx.y * tile + threadIdx.y;
  const int col = blockIdx.x * tile + threadIdx.x;
  float sum = 0.0f;
  for (int start = 0; start < k; start += tile) {
    const int across = start + threadIdx.x;
    const int down = start + threadIdx.y;
    as[threadIdx.y][threadIdx.x] =
        row < m && across < k ? static_cast<float>(a[size_t(row) * k + across]) : 0.0f;
    bs[threadIdx.y][threadIdx.x] =
        down < k && col < n ? static_cast<float>(b[size_t(down) * n + col]) : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < tile; ++i) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && col < n) c[size_t(row) * n + col] = static_cast<T>(sum);
}
