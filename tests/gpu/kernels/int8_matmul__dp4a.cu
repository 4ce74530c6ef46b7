// int8_matmul, dp4a: four products an instruction, from words packed in shared memory.
//
//! launch int8_matmul<<<(cdiv(n, 16), cdiv(m, 16)), (16, 16)>>>(a, b, out, m, n, k)

extern "C" __global__ void int8_matmul(const signed char* a, const signed char* b, int* c, int m,
                                       int n, int k) {
  __shared__ __align__(4) signed char as[16][16];
  __shared__ __align__(
      4) signed char bs[16][20];  // Of each column, its elements one after another.
  const int row = blockIdx.y * 16 + threadIdx.y;
  const int col = blockIdx.x * 16 + threadIdx.x;
  int sum = 0;
  for (int start = 0; start < k; start += 16) {
    const int across = start + threadIdx.x;
    const int down = start + threadIdx.y;
    as[threadIdx.y][threadIdx.x] = row < m && across < k ? a[size_t(row) * k + across] : 0;
    bs[threadIdx.x][threadIdx.y] = down < k && col < n ? b[size_t(down) * n + col] : 0;
    __syncthreads();
    for (int i = 0; i < 16; i += 4) {
      sum = __dp4a(*reinterpret_cast<const int*>(&as[threadIdx.y][i]),
                   *reinterpret_cast<const int*>(&bs[threadIdx.x][i]), sum);
    }
    __syncthreads();
  }
  if (row < m && col < n) c[size_t(row) * n + col] = sum;
}
