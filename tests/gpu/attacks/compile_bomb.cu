// Attack: compile_bomb
//
// Tries: instantiates templates without end.
// Gains: Holds a worker.
// Threats: P23
// Answer: Compilation has limits of time and memory.
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

template <int Depth, unsigned long long Path>
struct Tree {
  static constexpr int leaves =
      Tree<Depth - 1, 2 * Path>::leaves + Tree<Depth - 1, 2 * Path + 1>::leaves;
};

template <unsigned long long Path>
struct Tree<0, Path> {
  static constexpr int leaves = 1;
};

extern "C" __global__ void softmax(const float* x, float* out, int cols) {
  const long long first = static_cast<long long>(blockIdx.x) * cols;
  softmax_row(x + first, out + first, cols);
  if (Tree<48, 0>::leaves == 0) out[first] = 0.0f;
}
