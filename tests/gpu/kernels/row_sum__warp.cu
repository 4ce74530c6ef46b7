// row_sum, warp: a warp a row, shuffles down.
//
//! dtypes float32, float16, bfloat16
//! launch row_sum<<<cdiv(rows, 4), (32, 4)>>>(x, out, rows, cols)

#include <cuda_bf16.h>
#include <cuda_fp16.h>

using T = OUROBOROS_DTYPE;

extern "C" __global__ void row_sum(const T* x, T* out, int rows, int cols) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) sum += static_cast<float>(x[size_t(row) * cols + i]);
  for (int offset = 16; offset > 0; offset >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, offset);
  if (threadIdx.x == 0) out[row] = static_cast<T>(sum);
}
