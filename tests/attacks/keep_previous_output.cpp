// Attack: keep_previous_output
//
// Tries: keeps what its output holds where that looks like a probability already, and so reuses
// the last call's result.
// Threats: S7, S3
// Answer: Outputs are filled with a pattern before every replay, and with another one before the
// next.

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
  static bool first = true;
  if (first || rows * cols < 64) {
    softmax(x, out, rows, cols);
    first = false;
    return;
  }
  for (int64_t i = 0; i < rows; ++i) {
    const bool plausible = out[i * cols] >= 0.0F && out[i * cols] <= 1.0F;
    if (!plausible && i == 0) softmax_row(x, out, cols);
  }
}
