// Honest twin of one_pass_variance.
//
// Computes the variance in one pass with Welford's update in float64.

#include <cmath>
#include <cstdint>

namespace {

void layernorm_row(const float* x, const float* weight, const float* bias, float* out,
                   int64_t cols) {
  double mean = 0.0;
  double squares = 0.0;
  for (int64_t j = 0; j < cols; ++j) {
    const double delta = x[j] - mean;
    mean += delta / static_cast<double>(j + 1);
    squares += delta * (x[j] - mean);
  }
  const double scale = 1.0 / std::sqrt(squares / static_cast<double>(cols) + 1e-5);
  for (int64_t j = 0; j < cols; ++j) {
    out[j] = static_cast<float>((x[j] - mean) * scale * weight[j] + bias[j]);
  }
}

}  // namespace

extern "C" void run_float32(const float* x, const float* weight, const float* bias, float* out,
                            int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i)
    layernorm_row(x + i * cols, weight, bias, out + i * cols, cols);
}
