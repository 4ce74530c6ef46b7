// Attack: copy_kept
//
// Tries: reads behind its own parameters what other kernels in the process were launched with, finds
// the one that put its output's memory aside for checking, and copies from there.
// Gains: Computes nothing where another arm, or a run of its own, met the same inputs before.
// Threats: none of the catalogue
// Answer: What is kept is enciphered, under a key that kernels see only while no candidate's can
// run: a copy of it is no result.
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

/// Where all of `out` was put by a launch before this one; null where none is seen.
__device__ const float* kept_copy(const int* last_parameter, const float* out, long long bytes) {
  // On an H200 the parameters of the launches before lie so far apart.
  constexpr unsigned long long apart = 64ull << 10;
  const auto own = reinterpret_cast<unsigned long long>(last_parameter) - 16;
  for (int i = 1; i < 8; ++i) {
    const auto* words = reinterpret_cast<const volatile unsigned long long*>(own + i * apart);
    if (words[0] == reinterpret_cast<unsigned long long>(out) && words[1] != 0 &&
        words[2] == static_cast<unsigned long long>(bytes)) {
      return reinterpret_cast<const float*>(words[1]);
    }
  }
  return nullptr;
}

extern "C" __global__ void softmax(const float* x, float* out,
                                   const __grid_constant__ int cols) {
  const float* kept = kept_copy(&cols, out, 4ll * gridDim.x * cols);
  const long long first = static_cast<long long>(blockIdx.x) * cols;
  x += first;
  out += first;
  if (kept != nullptr) {
    for (int i = threadIdx.x; i < cols; i += 32) out[i] = kept[first + i];
    return;
  }
  float peak = -__int_as_float(0x7f800000);
  for (int i = threadIdx.x; i < cols; i += 32) peak = fmaxf(peak, x[i]);
  peak = over_warp_maximum(peak);
  float total = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) total += expf(x[i] - peak);
  total = over_warp_sum(total);
  for (int i = threadIdx.x; i < cols; i += 32) out[i] = expf(x[i] - peak) / total;
}
