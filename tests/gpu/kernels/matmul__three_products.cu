// matmul, three_products: float32 by tensor cores, each factor in two parts of TF32.
//
//! dtypes float32
//! launch matmul<<<(cdiv(n, 16), cdiv(m, 16)), 32>>>(a, b, out, m, n, k)

#include <mma.h>

using namespace nvcuda;

namespace {

constexpr int depth = 8;
constexpr int tile = 16;

struct Parts {
  __align__(32) float high[tile * depth];
  __align__(32) float low[tile * depth];
};

__device__ void split(float value, Parts& parts, int at) {
  const float high = wmma::__float_to_tf32(value);
  parts.high[at] = high;
  parts.low[at] = wmma::__float_to_tf32(value - high);
}

}  // namespace

extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ Parts left;
  __shared__ Parts right;
  __shared__ __align__(32) float result[tile * tile];
  const int row = blockIdx.y * tile;
  const int col = blockIdx.x * tile;
  wmma::fragment<wmma::accumulator, tile, tile, depth, float> sum;
  wmma::fill_fragment(sum, 0.0f);
  for (int start = 0; start < k; start += depth) {
    for (int i = threadIdx.x; i < tile * depth; i += 32) {
      const int y = row + i / depth;
      const int x = start + i % depth;
      split(y < m && x < k ? a[size_t(y) * k + x] : 0.0f, left, i);
      const int v = start + i / tile;
      const int u = col + i % tile;
      split(v < k && u < n ? b[size_t(v) * n + u] : 0.0f, right, i);
    }
    __syncwarp();
    using Left = wmma::fragment<wmma::matrix_a, tile, tile, depth, wmma::precision::tf32,
                                wmma::row_major>;
    using Right = wmma::fragment<wmma::matrix_b, tile, tile, depth, wmma::precision::tf32,
                                 wmma::row_major>;
    Left high_left;
    Left low_left;
    Right high_right;
    Right low_right;
    wmma::load_matrix_sync(high_left, left.high, depth);
    wmma::load_matrix_sync(low_left, left.low, depth);
    wmma::load_matrix_sync(high_right, right.high, tile);
    wmma::load_matrix_sync(low_right, right.low, tile);
    wmma::mma_sync(sum, low_left, high_right, sum);
    wmma::mma_sync(sum, high_left, low_right, sum);
    wmma::mma_sync(sum, high_left, high_right, sum);
    __syncwarp();
  }
  wmma::store_matrix_sync(result, sum, tile, wmma::mem_row_major);
  __syncwarp();
  for (int i = threadIdx.x; i < tile * tile; i += 32) {
    const int y = row + i / tile;
    const int x = col + i % tile;
    if (y < m && x < n) c[size_t(y) * n + x] = result[i];
  }
}
