// Attack: slow_specification
//
// Tries: has the referee evaluate long expressions tens of thousands of times before it launches
// anything.
// Gains: Minutes of the referee's own processor for a source of a few kilobytes.
// Threats: none of the catalogue
// Answer: What an expression costs has to count, as statements do: it is the referee that
// evaluates.
//
//! dtypes float32
//! for i in range(0, 40000): if (x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + 
//!     x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0 + x.elements * 0): copy out = x
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
}
