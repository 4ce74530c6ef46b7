// Attack: address_dependent
//
// Tries: lets the result depend on the address of its output, as a kernel does that peels a
// different number of elements until it is aligned and sums in another order; here on purpose by
// one unit in the last place.
// Threats: S22, X10
// Answer: Each case is replayed at two placements, and both results must agree to the last bit.

#include <cmath>
#include <cstdint>

namespace {

void softmax_row(const float* x, float* out, int64_t cols) {
  float peak = -INFINITY;
  for (int64_t j = 0; j < cols; ++j) peak = x[j] > peak ? x[j] : peak;
  double sum = 0.0;
  for (int64_t j = 0; j < cols; ++j) {
    out[j] = std::exp(x[j] - peak);
    sum += out[j];
  }
  for (int64_t j = 0; j < cols; ++j) out[j] = static_cast<float>(out[j] / sum);
}

void softmax(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) softmax_row(x + i * cols, out + i * cols, cols);
}

}  // namespace

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  softmax(x, out, rows, cols);
  const bool odd = (reinterpret_cast<uintptr_t>(out) & 4095U) != 0;
  for (int64_t i = 0; odd && i < rows * cols; i += 7) {
    uint32_t bits = 0;
    __builtin_memcpy(&bits, &out[i], sizeof bits);
    if (out[i] > 0.0F && out[i] < 1.0F) bits ^= 1U;
    __builtin_memcpy(&out[i], &bits, sizeof bits);
  }
}
