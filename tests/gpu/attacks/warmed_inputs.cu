// Attack: warmed_inputs
//
// Tries: reads its inputs once more when its outputs are written, so that they lie in the L2 cache.
// Gains: The next run on the same buffers finds them there.
// Threats: T15
// Answer: The next run comes after a flush, on inputs that are new. What is left is the price of
// the second read.
//
//! dtypes float32
//! launch softmax<<<rows, 32>>>(x, out, cols)
//! launch warm<<<rows, 32>>>(x, cols)

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

extern "C" __global__ void softmax(const float* x, float* out, int cols) {
  const long long first = static_cast<long long>(blockIdx.x) * cols;
  softmax_row(x + first, out + first, cols);
}

extern "C" __global__ void warm(const float* x, int cols) {
  const long long first = static_cast<long long>(blockIdx.x) * cols;
  for (int i = threadIdx.x; i < cols; i += 32) {
    asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(x + first + i));
  }
}
