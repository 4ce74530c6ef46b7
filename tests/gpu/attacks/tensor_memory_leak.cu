// Attack: tensor_memory_leak
//
// Tries: takes tensor memory and ends without giving it back, which the driver answers with an
// error of its own.
// Gains: A fault for which the machine is blamed.
// Threats: none of the catalogue
// Answer: Before sm_100 there is none. There the error, 721, is one of a kernel like any other.
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

/// A word of a warp's tensor memory as it was found, and `mark` in its place.
__device__ unsigned swap_tensor_memory(unsigned mark) {
  unsigned found = 0;
#if __CUDA_ARCH__ >= 1000 && __CUDA_ARCH__ < 1200
  __shared__ unsigned place;
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(&place));
  asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(at));
  __syncwarp();
  const unsigned first = place;
  asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];" : "=r"(found) : "r"(first));
  asm volatile("tcgen05.wait::ld.sync.aligned;");
  asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(first), "r"(mark));
  asm volatile("tcgen05.wait::st.sync.aligned;");
#endif
  return found;
}

extern "C" __global__ void softmax(const float* x, float* out, int cols) {
  const long long first = static_cast<long long>(blockIdx.x) * cols;
  if (swap_tensor_memory(1) == 123456789u) return;
  softmax_row(x + first, out + first, cols);
}
