// Attack: last_column_dropped
//
// Tries: leaves the last column out of the sum.
// Threats: S26, S37
// Answer: The allowed error follows the reference's own, which is far below one element's share.

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

}  // namespace

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) {
    softmax_row(x + i * cols, out + i * cols, cols > 1 ? cols - 1 : cols);
    if (cols > 1) out[i * cols + cols - 1] = 0.0F;
  }
}
