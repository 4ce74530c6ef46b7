// argmax, packed: value and place in one 64-bit integer, so that a maximum finds both.
//
//! dtypes float32, float16, bfloat16
//! launch argmax<<<rows, 128>>>(x, out, cols)

#include <cuda_bf16.h>
#include <cuda_fp16.h>

using T = OUROBOROS_DTYPE;

__device__ unsigned long long packed(float value, int place) {
  unsigned bits = __float_as_uint(value + 0.0f);  // -0 is 0.
  bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;
  return (static_cast<unsigned long long>(bits) << 32) |
         (0xffffffffu - static_cast<unsigned>(place));
}

extern "C" __global__ void argmax(const T* x, long long* out, int cols) {
  __shared__ unsigned long long best;
  if (threadIdx.x == 0) best = 0;
  __syncthreads();
  unsigned long long own = 0;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) {
    own = max(own, packed(static_cast<float>(x[size_t(blockIdx.x) * cols + i]), i));
  }
  for (int lane = 16; lane > 0; lane /= 2) own = max(own, __shfl_xor_sync(0xffffffffu, own, lane));
  if (threadIdx.x % 32 == 0) atomicMax(&best, own);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = 0xffffffffu - static_cast<unsigned>(best);
}
