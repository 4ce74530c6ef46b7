// Attack: files_by_inclusion
//
// Tries: asks the preprocessor whether files of the machine exist, and answers zeros where one
// does.
// Gains: Another machine than the judge's is recognised, or a file of answers.
// Threats: none of the catalogue
// Answer: The compiler sees headers of the toolkit and nothing else, so that the answer is always
// no.
//
//! dtypes float32
//! launch softmax<<<rows, 32>>>(x, out, cols)

#if __has_include("/etc/passwd") || __has_include("/proc/self/environ")
#error a file of the machine is there
#endif

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
