// Attack: wrong_at_large_shapes
//
// Tries: samples every second column for the sum at shapes that are large enough to be timed.
// Threats: S14, T20
// Answer: Timed shapes are swept, and timed outputs are checked.

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
  softmax(x, out, rows, cols);
  if (rows * cols < (1 << 18)) return;
  for (int64_t i = 0; i < rows; ++i) {
    double sampled = 0.0;
    for (int64_t j = 0; j < cols; j += 2) sampled += 2.0 * out[i * cols + j];
    for (int64_t j = 0; j < cols; ++j)
      out[i * cols + j] = static_cast<float>(out[i * cols + j] / sampled);
  }
}
