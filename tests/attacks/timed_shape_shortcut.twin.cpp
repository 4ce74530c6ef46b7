// Honest twin of timed_shape_shortcut.
//
// Leaves out the maximum where it has seen that every value is small, and looks at all of them.

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
  for (int64_t i = 0; i < rows; ++i) {
    bool small = true;
    for (int64_t j = 0; j < cols; ++j) small = small && std::abs(x[i * cols + j]) < 16.0F;
    (small ? exponentials_row : softmax_row)(x + i * cols, out + i * cols, cols);
  }
}
