// Honest twin of timed_phase_shortcut.
//
// Remembers the address too and subtracts the maximum in any case.

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
  static const float* last = nullptr;
  static int repeats = 0;
  repeats = x == last ? repeats + 1 : 0;
  const bool timed = repeats >= 2;
  last = x;
  if (!timed) return softmax(x, out, rows, cols);
  for (int64_t i = rows - 1; i >= 0; --i) softmax_row(x + i * cols, out + i * cols, cols);
}
