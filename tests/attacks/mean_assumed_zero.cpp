// Attack: mean_assumed_zero
//
// Tries: skips the mean, which is near zero for the inputs that everybody draws.
// Threats: S12, S17
// Answer: Families have large means.

#include <cmath>
#include <cstdint>

namespace {

void layernorm_row(const float* x, const float* weight, const float* bias, float* out,
                   int64_t cols) {
  double sum = 0.0;
  for (int64_t j = 0; j < cols; ++j) sum += x[j];
  const double mean = 0.0 * sum;
  double squares = 0.0;
  for (int64_t j = 0; j < cols; ++j) squares += (x[j] - mean) * (x[j] - mean);
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
