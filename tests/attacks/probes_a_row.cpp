// Attack: probes_a_row
//
// Tries: does without the maximum where 16 elements of a row look ordinary.
// Threats: S18
// Answer: Rows of ordinary numbers with a very large one among them are in every sweep.

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

static bool looks_ordinary(const float* x, int64_t cols) {
  for (int64_t i = 0; i < 16; ++i) {
    if (!(std::fabs(x[i * (cols - 1) / 15]) < 4)) return false;
  }
  return true;
}

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t row = 0; row < rows; ++row, x += cols, out += cols) {
    const float top = looks_ordinary(x, cols) ? 0 : largest(x, cols);
    softmax_row(x, out, cols, top);
  }
}
