// column_sum, atomic: blocks of rows, an atomic a column, rounded by a second kernel.
//
//! dtypes float32, float16, bfloat16
//! scratch total: float32[cols]
//! memset total = 0
//! launch add_rows<<<(cdiv(cols, 128), cdiv(rows, 32)), 128>>>(x, total, rows, cols)
//! launch rounded<<<cdiv(cols, 128), 128>>>(total, out, cols)

#include <cuda_bf16.h>
#include <cuda_fp16.h>

using T = OUROBOROS_DTYPE;

extern "C" __global__ void add_rows(const T* x, float* total, int rows, int cols) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col >= cols) return;
  float sum = 0.0f;
  const int first = blockIdx.y * 32;
  for (int row = first; row < min(rows, first + 32); ++row) {
    sum += static_cast<float>(x[size_t(row) * cols + col]);
  }
  atomicAdd(&total[col], sum);
}

extern "C" __global__ void rounded(const float* total, T* out, int cols) {
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (col < cols) out[col] = static_cast<T>(total[col]);
}
