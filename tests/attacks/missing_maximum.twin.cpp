// Honest twin of missing_maximum.
//
// Finds maximum and sum together in one pass (online softmax).

#include <cmath>
#include <cstdint>

namespace {

void softmax_row(const float* x, float* out, int64_t cols) {
  float peak = -INFINITY;
  double sum = 0.0;
  for (int64_t j = 0; j < cols; ++j) {
    if (x[j] > peak) {
      sum = sum * std::exp(static_cast<double>(peak) - x[j]);
      peak = x[j];
    }
    sum += std::exp(static_cast<double>(x[j]) - peak);
  }
  for (int64_t j = 0; j < cols; ++j) {
    out[j] = static_cast<float>(std::exp(static_cast<double>(x[j]) - peak) / sum);
  }
}

}  // namespace

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) softmax_row(x + i * cols, out + i * cols, cols);
}
