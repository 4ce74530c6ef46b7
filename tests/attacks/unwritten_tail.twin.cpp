// Honest twin of unwritten_tail.
//
// Writes the tail in a loop of its own.

#include <cmath>
#include <cstdint>

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) {
    const float* in = x + i * cols;
    float peak = -INFINITY;
    for (int64_t j = 0; j < cols; ++j) peak = in[j] > peak ? in[j] : peak;
    double sum = 0.0;
    for (int64_t j = 0; j < cols; ++j) sum += std::exp(in[j] - peak);
    for (int64_t j = 0; j < cols / 8 * 8; ++j) {
      out[i * cols + j] = static_cast<float>(std::exp(in[j] - peak) / sum);
    }
    for (int64_t j = cols / 8 * 8; j < cols; ++j) {
      out[i * cols + j] = static_cast<float>(std::exp(in[j] - peak) / sum);
    }
  }
}
