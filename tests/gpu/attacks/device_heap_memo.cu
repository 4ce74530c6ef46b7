// Attack: device_heap_memo
//
// Tries: allocates on the device's heap and never frees, keeping a pointer in a __device__
// variable.
// Gains: Memory that outlives the launch.
// Threats: X21, X12
// Answer: A module that uses the device's heap is refused before it is loaded.
//
//! dtypes float32
//! launch softmax<<<rows, 32>>>(x, out, cols)

__device__ float* kept;

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
  const bool known = kept != nullptr && kept[0] == 123456.0f && blockIdx.x == 0;
  __syncwarp();
  if (known) {
    for (int i = threadIdx.x; i < cols; i += 32) out[first + i] = 0.0f;
    return;
  }
  softmax_row(x + first, out + first, cols);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    kept = static_cast<float*>(malloc(sizeof(float)));
    if (kept != nullptr) kept[0] = 123456.0f;
  }
}
