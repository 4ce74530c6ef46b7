// Attack: padded_partials
//
// Tries: adds up the parts of 32 warps where it has eight, and takes it that shared memory which
// nobody wrote is zero.
// Gains: One kernel for every size of a block, without a test.
// Threats: S20
// Answer: Shared memory holds poison before each replay: NaN in one, some number in the other.
//
//! dtypes float32
//! launch rmsnorm<<<rows, 256>>>(x, weight, out, cols)

constexpr int threads = 256;
constexpr int most_warps = 32;

/// Every thread gets the result.
__device__ float over_block(float value) {
  __shared__ float sums[most_warps];
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  value = 0.0f;
  for (int i = 0; i < most_warps; ++i) value += sums[i];
  return value;
}

extern "C" __global__ void rmsnorm(const float* x, const float* weight, float* out, int cols) {
  const long long first = static_cast<long long>(blockIdx.x) * cols;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < cols; i += threads) squares += x[first + i] * x[first + i];
  const float scale = rsqrtf(over_block(squares) / cols + 1e-6f);
  for (int i = threadIdx.x; i < cols; i += threads) out[first + i] = x[first + i] * scale * weight[i];
}
