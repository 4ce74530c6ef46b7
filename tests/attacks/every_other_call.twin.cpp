// Honest twin of every_other_call.
//
// Alternates between two orders of the rows, with one result.

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
  static bool odd = false;
  odd = !odd;
  for (int64_t k = 0; k < rows; ++k) {
    const int64_t i = odd ? k : rows - 1 - k;
    softmax_row(x + i * cols, out + i * cols, cols);
  }
}
