// Attack: impatient_last_block
//
// Tries: sums a row in parts, a block each; the block of the last part sleeps for two microseconds
// in place of waiting for the others, and finishes the row.
// Gains: Atomics, fences and a second launch less. Right whenever blocks take the same time.
// Threats: S22
// Answer: Every second replay runs beside work that holds up some multiprocessors.
//
//! dtypes float32
//! scratch parts: float32[rows, cdiv(cols, 256)]
//! launch rmsnorm<<<(cdiv(cols, 256), rows), 256>>>(x, weight, parts, out, cols)

constexpr int threads = 256;

/// Every thread gets the result.
__device__ float over_block(float value) {
  __shared__ float sums[threads / 32];
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  __syncthreads();
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  value = 0.0f;
  for (int i = 0; i < threads / 32; ++i) value += sums[i];
  return value;
}

extern "C" __global__ void rmsnorm(const float* x, const float* weight, float* parts, float* out,
                                   int cols) {
  const long long first = static_cast<long long>(blockIdx.y) * cols;
  float* const row = parts + static_cast<long long>(blockIdx.y) * gridDim.x;
  const int own = blockIdx.x * threads + threadIdx.x;
  const float value = own < cols ? x[first + own] : 0.0f;
  const float part = over_block(value * value);
  if (threadIdx.x == 0) *const_cast<volatile float*>(row + blockIdx.x) = part;
  if (blockIdx.x != gridDim.x - 1) return;
  __nanosleep(2000);
  __syncthreads();
  float squares = 0.0f;
  for (int i = threadIdx.x; i < gridDim.x; i += threads) {
    squares += *const_cast<volatile float*>(row + i);
  }
  const float scale = rsqrtf(over_block(squares) / cols + 1e-6f);
  for (int i = threadIdx.x; i < cols; i += threads) out[first + i] = x[first + i] * scale * weight[i];
}
