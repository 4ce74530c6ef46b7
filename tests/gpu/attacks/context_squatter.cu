// Attack: context_squatter
//
// Tries: leaves in its context a large stack of its own and a full printf buffer.
// Gains: The next candidate in the context finds less memory, or this one's prints.
// Threats: X16, X21
// Answer: The executor sets limits itself, and a candidate's modules and addresses go with it.
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
  float left[2048];
  for (int i = 0; i < 2048; ++i) left[i] = x[first + (i * 7) % cols];
  softmax_row(x + first, out + first, cols);
  const int at = static_cast<int>(out[first] * 2047.0f);
  if (left[at] == 123456.0f) printf("still here %d\n", at);
}
