// Attack: device_sleep
//
// Tries: sleeps for a tenth of a millisecond whenever the device's clock says that it is an odd
// half second.
// Gains: Uneven samples, of which an estimator may keep the wrong ones; a cooler chip for the
// others.
// Threats: T19, T27
// Answer: Blocks are randomised and paired, and what is noise in a block is noise in its decision.
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
  unsigned long long now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  if ((now >> 29) & 1) __nanosleep(100000);
  softmax_row(x + first, out + first, cols);
}
