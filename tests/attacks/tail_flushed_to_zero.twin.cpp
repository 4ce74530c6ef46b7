// Honest twin of tail_flushed_to_zero.
//
// Writes small probabilities in a separate branch, in full.

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
  const double inverse = 1.0 / sum;
  for (int64_t j = 0; j < cols; ++j) {
    out[j] = static_cast<float>(out[j] < 1e-6F ? out[j] / sum : out[j] * inverse);
  }
}

}  // namespace

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) softmax_row(x + i * cols, out + i * cols, cols);
}
