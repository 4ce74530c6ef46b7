// Attack: equal_prefix
//
// Tries: answers 1 / cols where the first 32 elements are equal.
// Threats: S17, S18
// Answer: Of rows of equal numbers some have one that differs.

#include <algorithm>
#include <cmath>
#include <cstdint>

static void softmax_row(const float* x, float* out, int64_t cols, float top) {
  float sum = 0;
  for (int64_t i = 0; i < cols; ++i) sum += out[i] = std::exp(x[i] - top);
  for (int64_t i = 0; i < cols; ++i) out[i] /= sum;
}

static float largest(const float* x, int64_t cols) {
  float top = x[0];
  for (int64_t i = 1; i < cols; ++i) top = x[i] > top || std::isnan(x[i]) ? x[i] : top;
  return top;
}

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t row = 0; row < rows; ++row, x += cols, out += cols) {
    if (cols > 32 && std::all_of(x, x + 32, [=](float v) { return v == x[0]; })) {
      std::fill(out, out + cols, 1.0f / static_cast<float>(cols));
      continue;
    }
    const float top = largest(x, cols);
    softmax_row(x, out, cols, top);
  }
}
