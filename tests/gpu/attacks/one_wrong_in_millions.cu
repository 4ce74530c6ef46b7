// Attack: one_wrong_in_millions
//
// Tries: answers one wrong element in each four million, in the largest outputs only.
// Gains: Nothing but the proof that not everything is compared.
// Threats: X14, S26
// Answer: Outputs are compared whole at every shape, on the GPU where they are large.
//
//! dtypes float32
//! launch softmax<<<rows, 32>>>(x, out, rows, cols)

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

extern "C" __global__ void softmax(const float* x, float* out, int rows, int cols) {
  const long long first = static_cast<long long>(blockIdx.x) * cols;
  softmax_row(x + first, out + first, cols);
  __syncwarp();
  const bool large = static_cast<long long>(rows) * cols >= 1 << 18;
  const bool chosen = first / (1 << 22) != (first + cols) / (1 << 22) || blockIdx.x == 0;
  if (large && chosen && threadIdx.x == 0) out[first] *= 1.001f;
}
