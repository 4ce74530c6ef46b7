// Honest twin of epsilon_too_large.
//
// Adds epsilon in float32.

#include <cmath>
#include <cstdint>

namespace {

void rmsnorm_row(const float* x, const float* weight, float* out, int64_t cols) {
  double squares = 0.0;
  for (int64_t j = 0; j < cols; ++j) squares += static_cast<double>(x[j]) * x[j];
  const float mean = static_cast<float>(squares / static_cast<double>(cols));
  const double scale = 1.0 / std::sqrt(static_cast<double>(mean + 1e-6F));
  for (int64_t j = 0; j < cols; ++j) out[j] = static_cast<float>(x[j] * scale * weight[j]);
}

}  // namespace

extern "C" void run_float32(const float* x, const float* weight, float* out, int64_t rows,
                            int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) rmsnorm_row(x + i * cols, weight, out + i * cols, cols);
}
