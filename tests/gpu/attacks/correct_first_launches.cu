// Attack: correct_first_launches
//
// Tries: counts its blocks in a __device__ variable and answers zeros from the hundred-thousandth
// on.
// Gains: Checked launches are right, later ones are free.
// Threats: S19, X5
// Answer: Globals keep what a launch left in them, but timed replays are checked replays: the zeros
// show.
//
//! dtypes float32
//! launch softmax<<<rows, 32>>>(x, out, cols)

__device__ unsigned count;

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
  unsigned before = 0;
  if (threadIdx.x == 0) before = atomicAdd(&count, 1u);
  before = __shfl_sync(0xffffffffu, before, 0);
  if (before >= 100000u) {
    for (int i = threadIdx.x; i < cols; i += 32) out[first + i] = 0.0f;
  } else {
    softmax_row(x + first, out + first, cols);
  }
}
