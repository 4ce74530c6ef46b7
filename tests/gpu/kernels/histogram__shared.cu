// histogram, shared: a histogram a block in shared memory, joined by atomics.
//
//! dtypes float32
//! memset out = 0
//! launch histogram<<<min(32, cdiv(n, 256)), 256>>>(values, out, n)

extern "C" __global__ void histogram(const long long* values, int* out, int n) {
  __shared__ int counts[64];
  if (threadIdx.x < 64) counts[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&counts[values[i]], 1);
  }
  __syncthreads();
  if (threadIdx.x < 64 && counts[threadIdx.x] > 0)
    atomicAdd(&out[threadIdx.x], counts[threadIdx.x]);
}
