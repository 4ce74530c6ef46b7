// Attack: one_pass_variance
//
// Tries: computes the variance as the mean of squares less the square of the mean in float32,
// which cancels when the mean is large.
// Threats: S37, S13
// Answer: A value family has a large mean and a small spread.

#include <cmath>
#include <cstdint>

namespace {

void layernorm_row(const float* x, const float* weight, const float* bias, float* out,
                   int64_t cols) {
  float sum = 0.0F;
  float squares = 0.0F;
  for (int64_t j = 0; j < cols; ++j) {
    sum += x[j];
    squares += x[j] * x[j];
  }
  const float mean = sum / static_cast<float>(cols);
  const float variance = squares / static_cast<float>(cols) - mean * mean;
  const float scale = 1.0F / std::sqrt((variance > 0.0F ? variance : 0.0F) + 1e-5F);
  for (int64_t j = 0; j < cols; ++j) out[j] = (x[j] - mean) * scale * weight[j] + bias[j];
}

}  // namespace

extern "C" void run_float32(const float* x, const float* weight, const float* bias, float* out,
                            int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i)
    layernorm_row(x + i * cols, weight, bias, out + i * cols, cols);
}
