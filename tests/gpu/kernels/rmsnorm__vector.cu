// rmsnorm, vector: sixteen bytes a load where rows are multiples of that, one element elsewhere.
//
//! dtypes float32, float16, bfloat16
//! let wide = cols * sizeof(dtype) % 16 == 0
//! if wide: launch rmsnorm_wide<<<rows, 256>>>(x, weight, out, cols)
//! else: launch rmsnorm_narrow<<<rows, 256>>>(x, weight, out, cols)

#if OUROBOROS_DTYPE_float16
#include <cuda_fp16.h>
#elif OUROBOROS_DTYPE_bfloat16
#include <cuda_bf16.h>
#endif

using T = OUROBOROS_DTYPE;

constexpr int threads = 256;

struct Sum {
  static __device__ float identity() { return 0.0f; }
  static __device__ float join(float a, float b) { return a + b; }
};

/// Every thread gets the result.
template <class Operation>
__device__ float over_block(float value) {
  __shared__ float parts[threads / 32];
  for (int offset = 16; offset > 0; offset /= 2) {
    value = Operation::join(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = Operation::identity();
  for (int i = 0; i < threads / 32; ++i) value = Operation::join(value, parts[i]);
  __syncthreads();
  return value;
}

constexpr int lanes = 16 / sizeof(T);

struct alignas(16) Vector {
  T at[lanes];
};

template <class Element, int width>
__device__ void rmsnorm(const T* x, const T* weight, T* out, int cols) {
  const int count = cols / width;
  const long long first = static_cast<long long>(blockIdx.x) * count;
  const auto* from = reinterpret_cast<const Element*>(x) + first;
  const auto* factors = reinterpret_cast<const Element*>(weight);
  auto* to = reinterpret_cast<Element*>(out) + first;
  float squares = 0.0f;
  for (int i = threadIdx.x; i < count; i += threads) {
    const Element values = from[i];
    for (int lane = 0; lane < width; ++lane) {
      const float value = static_cast<float>(reinterpret_cast<const T*>(&values)[lane]);
      squares += value * value;
    }
  }
  const float scale = rsqrtf(over_block<Sum>(squares) / cols + 1e-6f);
  for (int i = threadIdx.x; i < count; i += threads) {
    Element values = from[i];
    const Element factor = factors[i];
    for (int lane = 0; lane < width; ++lane) {
      T& value = reinterpret_cast<T*>(&values)[lane];
      value = static_cast<T>(static_cast<float>(value) * scale *
                             static_cast<float>(reinterpret_cast<const T*>(&factor)[lane]));
    }
    to[i] = values;
  }
}

extern "C" __global__ void rmsnorm_wide(const T* x, const T* weight, T* out, int cols) {
  rmsnorm<Vector, lanes>(x, weight, out, cols);
}

extern "C" __global__ void rmsnorm_narrow(const T* x, const T* weight, T* out, int cols) {
  rmsnorm<T, 1>(x, weight, out, cols);
}
