// embedding, vector: sixteen bytes a thread where rows allow it.
//
//! dtypes float32, float16, bfloat16
//! let wide = width * sizeof(dtype) % 16 == 0
//! if wide: launch embedding_wide<<<n, 64>>>(ids, table, out, width)
//! else: launch embedding_narrow<<<n, 64>>>(ids, table, out, width)

#include <cuda_bf16.h>
#include <cuda_fp16.h>

using T = OUROBOROS_DTYPE;

template <class Element>
__device__ void row(const long long* ids, const T* table, T* out, int width) {
  const int count = width * sizeof(T) / sizeof(Element);
  const auto* from = reinterpret_cast<const Element*>(table) + ids[blockIdx.x] * count;
  auto* to = reinterpret_cast<Element*>(out) + size_t(blockIdx.x) * count;
  for (int i = threadIdx.x; i < count; i += blockDim.x) to[i] = from[i];
}

extern "C" __global__ void embedding_wide(const long long* ids, const T* table, T* out, int width) {
  row<uint4>(ids, table, out, width);
}

extern "C" __global__ void embedding_narrow(const long long* ids, const T* table, T* out,
                                            int width) {
  row<T>(ids, table, out, width);
}
