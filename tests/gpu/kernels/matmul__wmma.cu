// matmul, wmma: tensor cores by way of mma.h, edges padded in shared memory.
//
//! dtypes float16, bfloat16
//! launch matmul<<<(cdiv(n, 16), cdiv(m, 16)), 32>>>(a, b, out, m, n, k)

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using T = OUROBOROS_DTYPE;
using namespace nvcuda;

extern "C" __global__ void matmul(const T* a, const T* b, T* c, int m, int n, int k) {
#if OUROBOROS_DTYPE_float16 || OUROBOROS_DTYPE_bfloat16
  __shared__ __align__(32) T as[256];
  __shared__ __align__(32) T bs[256];
  __shared__ __align__(32) float cs[256];
  const int row = blockIdx.y * 16;
  const int col = blockIdx.x * 16;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int start = 0; start < k; start += 16) {
    for (int i = threadIdx.x; i < 256; i += 32) {
      const int y = i / 16;
      const int x = i % 16;
      as[i] = row + y < m && start + x < k ? a[size_t(row + y) * k + start + x] : T(0.0f);
      bs[i] = start + y < k && col + x < n ? b[size_t(start + y) * n + col + x] : T(0.0f);
    }
    __syncwarp();
    wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::row_major> right;
    wmma::load_matrix_sync(left, as, 16);
    wmma::load_matrix_sync(right, bs, 16);
    wmma::mma_sync(sum, left, right, sum);
    __syncwarp();
  }
  wmma::store_matrix_sync(cs, sum, 16, wmma::mem_row_major);
  __syncwarp();
  for (int i = threadIdx.x; i < 256; i += 32) {
    const int y = row + i / 16;
    const int x = col + i % 16;
    if (y < m && x < n) c[size_t(y) * n + x] = static_cast<T>(cs[i]);
  }
#endif
}
