// Attack: incremental_rows
//
// Tries: keeps the last input's probes and the last output, and recomputes only rows whose probe
// has changed.
// Gains: A referee that pokes single elements sees them answered: measured at 4.7 times on a
// published one.
// Threats: S3, X5
// Answer: Variables are what they were at loading before every run, and no input comes twice.
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

__device__ float probes[8192];
__device__ float kept[1 << 20];

extern "C" __global__ void softmax(const float* x, float* out, int cols) {
  const long long first = static_cast<long long>(blockIdx.x) * cols;
  const int row = blockIdx.x;
  const bool room = row < 8192 && first + cols <= 1 << 20;
  if (room && probes[row] == x[first] && x[first] != 0.0f) {
    for (int i = threadIdx.x; i < cols; i += 32) out[first + i] = kept[first + i];
    return;
  }
  softmax_row(x + first, out + first, cols);
  __syncwarp();
  if (!room) return;
  for (int i = threadIdx.x; i < cols; i += 32) kept[first + i] = out[first + i];
  if (threadIdx.x == 0) probes[row] = x[first];
}
