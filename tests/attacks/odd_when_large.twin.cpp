// Honest twin of odd_when_large.
//
// It takes every row whole.

#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i, x += cols, out += cols) {
    const float largest = *std::max_element(x, x + cols);
    float sum = 0.0F;
    for (int64_t j = 0; j < cols; ++j) sum += out[j] = std::exp(x[j] - largest);
    for (int64_t j = 0; j < cols; ++j) out[j] /= sum;
  }
}
