// Honest twin of coarse_in_between.
//
// It leaves results as they are, whatever the shape is.

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace {

void softmax_row(const float* x, float* out, int64_t cols) {
  float largest = x[0];
  for (int64_t j = 1; j < cols; ++j) {
    // NaN is the largest of all: what is made of it is NaN.
    largest = std::isnan(x[j]) || x[j] > largest ? x[j] : largest;
  }
  double sum = 0.0;
  for (int64_t j = 0; j < cols; ++j) {
    out[j] = std::exp(x[j] - largest);
    sum += out[j];
  }
  const float scale = static_cast<float>(1.0 / sum);
  for (int64_t j = 0; j < cols; ++j) out[j] *= scale;
}

}  // namespace

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) softmax_row(x + i * cols, out + i * cols, cols);
}
