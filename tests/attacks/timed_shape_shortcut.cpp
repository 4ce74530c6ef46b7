// Attack: timed_shape_shortcut
//
// Tries: leaves out the maximum at the timed shape that a sweep does not visit, 256 x 4096: right
// for the ordinary values that are timed, wrong for large ones.
// Threats: S14, S18, T20
// Answer: The timed shapes are checked with other value families too, in the same process, by
// calls that look like timed ones.

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

void exponentials_row(const float* x, float* out, int64_t cols) {
  double sum = 0.0;
  for (int64_t j = 0; j < cols; ++j) {
    out[j] = std::exp(x[j]);
    sum += out[j];
  }
  for (int64_t j = 0; j < cols; ++j) out[j] = static_cast<float>(out[j] / sum);
}

}  // namespace

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  if (rows != 256 || cols != 4096) return softmax(x, out, rows, cols);
  for (int64_t i = 0; i < rows; ++i) exponentials_row(x + i * cols, out + i * cols, cols);
}
