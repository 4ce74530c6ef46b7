// Attack: odd_when_large
//
// Tries: leaves the last column out of an odd row where there are more than 2^19 elements.
// Threats: S14, S15
// Answer: The sweep's shapes are smaller, and timed ones are even: beside these there is one
// that is large and odd.

#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  const bool large = rows * cols > 1 << 19;
  const int64_t done = large ? cols / 2 * 2 : cols;
  for (int64_t i = 0; i < rows; ++i, x += cols, out += cols) {
    const float largest = *std::max_element(x, x + cols);
    float sum = 0.0F;
    for (int64_t j = 0; j < done; ++j) sum += out[j] = std::exp(x[j] - largest);
    for (int64_t j = 0; j < done; ++j) out[j] /= sum;
    for (int64_t j = done; j < cols; ++j) out[j] = 0.0F;
  }
}
