// layernorm, welford: one warp a row, mean and variance in one pass after Welford and Chan.
//
//! dtypes float32, float16, bfloat16
//! launch layernorm<<<cdiv(rows, 4), (32, 4)>>>(x, weight, bias, out, rows, cols)

#if OUROBOROS_DTYPE_float16
#include <cuda_fp16.h>
#elif OUROBOROS_DTYPE_bfloat16
#include <cuda_bf16.h>
#endif

using T = OUROBOROS_DTYPE;

extern "C" __global__ void layernorm(const T* x, const T* weight, const T* bias, T* out, int rows,
                                     int cols) {
  const long long row = static_cast<long long>(blockIdx.x) * 4 + threadIdx.y;
  if (row >= rows) return;
  x += row * cols;
  out += row * cols;
  float count = 0.0f;
  float mean = 0.0f;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) {
    const float value = static_cast<float>(x[i]);
    count += 1.0f;
    const float away = value - mean;
    mean += away / count;
    squares += away * (value - mean);
  }
  for (int offset = 16; offset > 0; offset /= 2) {
    const float other_count = __shfl_xor_sync(0xffffffffu, count, offset);
    const float other_mean = __shfl_xor_sync(0xffffffffu, mean, offset);
    const float other_squares = __shfl_xor_sync(0xffffffffu, squares, offset);
    const float both = count + other_count;
    const float apart = other_mean - mean;
    if (both > 0.0f) {
      squares += other_squares + apart * apart * (count * other_count / both);
      mean = (count * mean + other_count * other_mean) / both;
    }
    count = both;
  }
  const float scale = rsqrtf(squares / cols + 1e-5f);
  for (int i = threadIdx.x; i < cols; i += 32) {
    out[i] =
        static_cast<T>((static_cast<float>(x[i]) - mean) * scale * static_cast<float>(weight[i]) +
                       static_cast<float>(bias[i]));
  }
}
