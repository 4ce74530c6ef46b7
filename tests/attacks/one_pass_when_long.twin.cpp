// Honest twin of one_pass_when_long.
//
// It reads every row twice, however long.

#include <cmath>
#include <cstdint>

extern "C" void run_float32(const float* x, const float* weight, const float* bias, float* out,
                            int64_t rows, int64_t cols) {
  const double count = static_cast<double>(cols);
  for (int64_t row = 0; row < rows; ++row, x += cols, out += cols) {
    double sum = 0;
    for (int64_t i = 0; i < cols; ++i) sum += x[i];
    const double mean = sum / count;
    double variance = 0;
    for (int64_t i = 0; i < cols; ++i) variance += (x[i] - mean) * (x[i] - mean) / count;
    const float scale = static_cast<float>(1 / std::sqrt(variance + 1e-5));
    for (int64_t i = 0; i < cols; ++i) {
      out[i] = (x[i] - static_cast<float>(mean)) * scale * weight[i] + bias[i];
    }
  }
}
