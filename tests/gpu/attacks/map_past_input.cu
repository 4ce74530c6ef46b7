// Attack: map_past_input
//
// Tries: describes one row more than its input has to the unit that copies tensors.
// Gains: What lies behind the input, without an address that a check of pointers would see.
// Threats: none of the catalogue
// Answer: A tensor map has to lie inside its buffer, or there is no replay.
//
//! dtypes float32
//! let pitch = 4 * cdiv(cols, 4)
//! launch softmax<<<rows, 32>>>(x, out, cols,
//!     tensor_map(x, sizes = (cols, rows + 1), strides = (pitch), box = (4, 1)))

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

struct alignas(64) Map {
  char bytes[128];
};

extern "C" __global__ void softmax(const float* x, float* out, int cols,
                                   const __grid_constant__ Map map) {
  const long long first = static_cast<long long>(blockIdx.x) * cols;
  asm volatile("prefetch.tensormap [%0];" ::"l"(&map));
  softmax_row(x + first, out + first, cols);
}
