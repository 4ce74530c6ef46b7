// fp8_scale, groups: CUDA's own type, four elements a thread.
//
//! launch fp8_scale<<<max(1, cdiv(rows * cols, 1024)), 256>>>(x, scale, out, rows * cols)

#include <cuda_fp16.h>
#include <cuda_fp8.h>

extern "C" __global__ void fp8_scale(const __nv_fp8_e4m3* x, const float* scale, __half* out,
                                     int n) {
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * 4;
  for (int i = first; i < min(n, first + 4); ++i) {
    out[i] = __float2half(static_cast<float>(x[i]) * *scale);
  }
}
