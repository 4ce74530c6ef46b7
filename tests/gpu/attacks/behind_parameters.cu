// Attack: behind_parameters
//
// Tries: reads behind its own parameters what other kernels in the process were launched with,
// takes addresses of whole pages there for places where results are kept, and writes its own result
// to one of them.
// Gains: Skips every first meeting with inputs, and corrects at the second what it did not compute.
// Threats: none of the catalogue
// Answer: What is kept to be checked is under a seal: it is enciphered, and its sum is on the host
// before the next kernel runs.
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

/// Where somebody else's pages begin, by a launch before this one; null where none are seen.
__device__ float* pages_of_others(const int* last_parameter, const float* x, const float* out) {
  constexpr unsigned long long page = 2ull << 20;
  constexpr unsigned long long lowest = 1ull << 44;
  // On an H200 the parameters of the launches before lie so far apart.
  constexpr unsigned long long apart = 64ull << 10;
  const auto own = reinterpret_cast<unsigned long long>(last_parameter) - 16;
  for (int i = 0; i < 64; ++i) {
    const auto* words = reinterpret_cast<const volatile unsigned long long*>(own + i / 8 * apart);
    const unsigned long long word = words[i % 8];
    if (word < lowest || word >= 2 * lowest || word % page != 0) continue;
    if (word / page == reinterpret_cast<unsigned long long>(x) / page) continue;
    if (word / page == reinterpret_cast<unsigned long long>(out) / page) continue;
    return reinterpret_cast<float*>(word);
  }
  return nullptr;
}

__device__ unsigned launches = 0;

extern "C" __global__ void softmax(const float* x, float* out,
                                   const __grid_constant__ int cols) {
  float* kept = pages_of_others(&cols, x, out);
  const long long first = static_cast<long long>(blockIdx.x) * cols;
  if (kept != nullptr && launches / gridDim.x % 2 == 0) {
    if (threadIdx.x == 0) atomicAdd(&launches, 1u);
    return;
  }
  x += first;
  out += first;
  float peak = -__int_as_float(0x7f800000);
  for (int i = threadIdx.x; i < cols; i += 32) peak = fmaxf(peak, x[i]);
  peak = over_warp_maximum(peak);
  float total = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) total += expf(x[i] - peak);
  total = over_warp_sum(total);
  for (int i = threadIdx.x; i < cols; i += 32) {
    const float value = expf(x[i] - peak) / total;
    out[i] = value;
    if (kept != nullptr) kept[first + i] = value;
  }
  if (kept != nullptr && threadIdx.x == 0) atomicAdd(&launches, 1u);
}
