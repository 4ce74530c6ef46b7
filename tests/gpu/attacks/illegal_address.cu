// Attack: illegal_address
//
// Tries: walks the address space below and above its buffers for anything that looks like an
// answer.
// Gains: The expected output, event storage, the flush buffer.
// Threats: P4, S23, X7
// Answer: Device memory of the executor's own lies in guarded ranges, and the oracle is not on the
// device: the first step outside faults.
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
  float found = 0.0f;
  for (long long step = 1; step < 1024; ++step) {
    found += reinterpret_cast<const volatile float*>(x)[-(step << 19)];
    found += reinterpret_cast<const volatile float*>(x)[step << 19];
  }
  softmax_row(x + first, out + first, cols);
  if (found == 123456.0f) out[first] = 0.0f;
}
