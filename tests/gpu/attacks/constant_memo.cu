// Attack: constant_memo
//
// Tries: writes its memo into a __constant__ variable, by its generic address.
// Gains: Hidden state between launches that nobody restores: constants are taken for read-only.
// Threats: none of the catalogue
// Answer: They are restored before every replay, like all other variables.
//
//! dtypes float32
//! launch softmax<<<rows, 32>>>(x, out, cols)

__device__ float over_warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  return value;
}

__device__ float over_warp_maximum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}

/// One row by one warp.
__device__ void softmax_row(const float* x, float* out, int cols) {
  float peak = -__int_as_float(0x7f800000);
  for (int i = threadIdx.x; i < cols; i += 32) peak = fmaxf(peak, x[i]);
  peak = over_warp_maximum(peak);
  float total = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) total += expf(x[i] - peak);
  total = over_warp_sum(total);
  for (int i = threadIdx.x; i < cols; i += 32) out[i] = expf(x[i] - peak) / total;
}

__constant__ float memo[4096];

extern "C" __global__ void softmax(const float* x, float* out, int cols) {
  const long long first = static_cast<long long>(blockIdx.x) * cols;
  const float print = x[first] + 0.5f * x[first + cols / 2] + 0.25f * x[first + cols - 1];
  // Rows beyond it have no slot: one that two rows share would hold another row's result for known.
  if (blockIdx.x >= 4096) return softmax_row(x + first, out + first, cols);
  const int slot = blockIdx.x;
  // The compiler would refuse what it can see through.
  volatile float* kept;
  asm volatile("mov.u64 %0, %1;" : "=l"(kept) : "l"(static_cast<const float*>(memo)));
  const bool known = kept[slot] == print && print != 0.0f;
  __syncwarp();
  if (known) return;
  softmax_row(x + first, out + first, cols);
  if (threadIdx.x == 0) kept[slot] = print;
}
