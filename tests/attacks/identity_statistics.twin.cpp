// Honest twin of identity_statistics.
//
// Applies weight and bias in a second pass over the normalised row.

#include <cmath>
#include <cstdint>
#include <vector>

namespace {

void normalise_row(const float* x, double* normal, int64_t cols) {
  double sum = 0.0;
  for (int64_t j = 0; j < cols; ++j) sum += x[j];
  const double mean = sum / static_cast<double>(cols);
  double squares = 0.0;
  for (int64_t j = 0; j < cols; ++j) squares += (x[j] - mean) * (x[j] - mean);
  const double scale = 1.0 / std::sqrt(squares / static_cast<double>(cols) + 1e-5);
  for (int64_t j = 0; j < cols; ++j) normal[j] = (x[j] - mean) * scale;
}

}  // namespace

extern "C" void run_float32(const float* x, const float* weight, const float* bias, float* out,
                            int64_t rows, int64_t cols) {
  std::vector<double> normal(static_cast<std::size_t>(cols));
  for (int64_t i = 0; i < rows; ++i) {
    normalise_row(x + i * cols, normal.data(), cols);
    for (int64_t j = 0; j < cols; ++j) {
      out[i * cols + j] = static_cast<float>(normal[j] * weight[j] + bias[j]);
    }
  }
}
