// Attack: parts_reused_early
//
// Tries: uses one array in shared memory for two sums, and does not wait between them until every
// warp has read the first one's parts.
// Gains: A barrier less. Right as long as no warp is late by more than a pass over the row.
// Threats: S22
// Answer: It is replayed once more in a build of ours, in which some warps sleep after each barrier.
//
//! dtypes float32
//! launch layernorm<<<rows, 256>>>(x, weight, bias, out, cols)

constexpr int threads = 256;

/// Every thread gets the result.
__device__ float over_block(float value) {
  __shared__ float parts[threads / 32];
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = 0.0f;
  for (int i = 0; i < threads / 32; ++i) value += parts[i];
  return value;
}

extern "C" __global__ void layernorm(const float* x, const float* weight, const float* bias,
                                     float* out, int cols) {
  const long long first = static_cast<long long>(blockIdx.x) * cols;
  float total = 0.0f;
  for (int i = threadIdx.x; i < cols; i += threads) total += x[first + i];
  const float mean = over_block(total) / cols;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < cols; i += threads) {
    const float away = x[first + i] - mean;
    squares += away * away;
  }
  const float scale = rsqrtf(over_block(squares) / cols + 1e-5f);
  for (int i = threadIdx.x; i < cols; i += threads) {
    out[first + i] = (x[first + i] - mean) * scale * weight[i] + bias[i];
  }
}
