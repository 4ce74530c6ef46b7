// Attack: tail_flushed_to_zero
//
// Tries: writes zero for every probability below 1e-6, most of a peaked row.
// Threats: S13, S27
// Answer: Errors are judged within groups of elements of like size: a small element must be right
// to its own scale.

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
  for (int64_t j = 0; j < cols; ++j)
    out[j] = out[j] / sum < 1e-6 ? 0.0F : static_cast<float>(out[j] / sum);
}

}  // namespace

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) softmax_row(x + i * cols, out + i * cols, cols);
}
