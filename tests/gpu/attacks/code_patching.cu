// Attack: code_patching
//
// Tries: writes over the code of a function, by the address of a pointer to it.
// Gains: Code of its choice in the context: a flush that does nothing.
// Threats: X20
// Answer: On sm_90 pointers to functions are numbers in a table and nothing is mapped there: the
// write faults. Helpers are verified by their effects.
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

__device__ __noinline__ void victim(float* out) { out[0] += 1.0f; }
__device__ void (*volatile address)(float*) = victim;

extern "C" __global__ void softmax(const float* x, float* out, int cols) {
  const long long first = static_cast<long long>(blockIdx.x) * cols;
  softmax_row(x + first, out + first, cols);
  auto* code = reinterpret_cast<volatile unsigned long long*>(address);
  if (cols < 0) address(out);
  code[0] = 0x000000000000794dull;
}
