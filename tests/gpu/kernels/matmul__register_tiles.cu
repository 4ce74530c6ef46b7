// matmul, register_tiles: four by four elements a thread, from shared memory through registers.
//
//! dtypes float32
//! launch matmul<<<(cdiv(n, 64), cdiv(m, 64)), 256>>>(a, b, out, m, n, k)

constexpr int block = 64;
constexpr int depth = 8;
constexpr int own = 4;

extern "C" __global__ void __launch_bounds__(256)
    matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float as[depth][block];
  __shared__ float bs[depth][block];
  const int first_row = blockIdx.y * block;
  const int first_col = blockIdx.x * block;
  const int ty = threadIdx.x / 16 * own;
  const int tx = threadIdx.x % 16 * own;
  float sums[own][own] = {};
  for (int start = 0; start < k; start += depth) {
    for (int i = threadIdx.x; i < block * depth; i += 256) {
      const int row = i / depth;
      const int inner = i % depth;
      as[inner][row] = first_row + row < m && start + inner < k
                           ? a[size_t(first_row + row) * k + start + inner]
                           : 0.0f;
      const int col = i % block;
      const int down = i / block;
      bs[down][col] = start + down < k && first_col + col < n
                          ? b[size_t(start + down) * n + first_col + col]
                          : 0.0f;
    }
    __syncthreads();
    for (int inner = 0; inner < depth; ++inner) {
      float left[own], right[own];
      for (int i = 0; i < own; ++i) left[i] = as[inner][ty + i];
      for (int j = 0; j < own; ++j) right[j] = bs[inner][tx + j];
      for (int i = 0; i < own; ++i) {
        for (int j = 0; j < own; ++j) sums[i][j] = fmaf(left[i], right[j], sums[i][j]);
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < own; ++i) {
    for (int j = 0; j < own; ++j) {
      const int row = first_row + ty + i;
      const int col = first_col + tx + j;
      if (row < m && col < n) c[size_t(row) * n + col] = sums[i][j];
    }
  }
}
