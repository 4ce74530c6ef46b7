// Attack: shared_memory_memo
//
// Tries: reads what the last launch left in shared memory, and writes nothing where it finds its
// own mark with the same row.
// Gains: Hidden state between launches: up to 30 MB of it on a large GPU.
// Threats: X6
// Answer: Shared memory is poisoned between replays, and before every timed run.
//
//! dtypes float32
//! launch softmax<<<rows, 32, shared = 1024>>>(x, out, cols)

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
  extern __shared__ float kept[];
  const volatile float* left = kept;
  const float print = x[first] + 0.5f * x[first + cols / 2] + 0.25f * x[first + cols - 1];
  const bool known = left[0] == 123456.0f && left[1] == print;
  __syncwarp();
  if (known) return;
  softmax_row(x + first, out + first, cols);
  if (threadIdx.x == 0) {
    kept[0] = 123456.0f;
    kept[1] = print;
  }
}
