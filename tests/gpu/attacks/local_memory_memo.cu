// Attack: local_memory_memo
//
// Tries: reads the last launch's stack, which nobody has cleared, and answers zeros where it finds
// its own mark.
// Gains: Hidden state between launches.
// Threats: X21
// Answer: Replays of other kernels lie between two of its own. Timed inputs are new in every block,
// and inside one nobody knows which of two meetings is compared.
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

extern "C" __global__ void softmax(const float* x, float* out, int cols) {
  const long long first = static_cast<long long>(blockIdx.x) * cols;
  volatile float stack[64];
  const bool known = stack[blockIdx.x % 64] == 123456.0f;
  for (int i = 0; i < 64; ++i) stack[i] = 123456.0f;
  if (known) {
    for (int i = threadIdx.x; i < cols; i += 32) out[first + i] = 0.0f;
  } else {
    softmax_row(x + first, out + first, cols);
  }
}
