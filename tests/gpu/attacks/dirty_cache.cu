// Attack: dirty_cache
//
// Tries: leaves the L2 cache full of lines that are to be written back when the next arm runs.
// Gains: The baseline, which runs next, pays for them.
// Threats: T16, X13
// Answer: Each sample begins with a flush that reads, so that nothing is dirty, and what filling
// the cache takes is the candidate's own time.
//
//! dtypes float32
//! scratch waste: float32[4194304]
//! launch softmax<<<rows, 32>>>(x, out, cols)
//! launch dirty<<<4096, 1024>>>(waste)

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

extern "C" __global__ void dirty(float* waste) {
  const int at = blockIdx.x * 1024 + threadIdx.x;
  asm volatile("st.global.wb.f32 [%0], %1;" ::"l"(waste + at), "f"(1.0f * at));
}
