// transpose, shared: tiles turned in shared memory, whose rows are one longer.
//
//! dtypes float32, float16, bfloat16
//! launch transpose<<<(cdiv(cols, 32), cdiv(rows, 32)), (32, 8)>>>(x, out, rows, cols)

#include <cuda_bf16.h>
#include <cuda_fp16.h>

using T = OUROBOROS_DTYPE;

extern "C" __global__ void transpose(const T* x, T* out, int rows, int cols) {
  __shared__ T tile[32][33];
  int col = blockIdx.x * 32 + threadIdx.x;
  int row = blockIdx.y * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) {
    if (col < cols && row + i < rows) {
      tile[threadIdx.y + i][threadIdx.x] = x[size_t(row + i) * cols + col];
    }
  }
  __syncthreads();
  col = blockIdx.y * 32 + threadIdx.x;
  row = blockIdx.x * 32 + threadIdx.y;
  for (int i = 0; i < 32; i += 8) {
    if (col < rows && row + i < cols) {
      out[size_t(row + i) * rows + col] = tile[threadIdx.x][threadIdx.y + i];
    }
  }
}
