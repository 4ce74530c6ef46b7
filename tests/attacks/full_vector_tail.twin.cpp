// Honest twin of full_vector_tail.
//
// Uses whole vectors and then a loop over the tail.

#include <cmath>
#include <cstdint>

namespace {

void softmax_tail(const float* x, float* out, int64_t cols) {
  const int64_t whole = cols / 16 * 16;
  float peak = -INFINITY;
  for (int64_t j = 0; j < cols; ++j) peak = x[j] > peak ? x[j] : peak;
  double sum = 0.0;
  for (int64_t j = 0; j < cols; ++j) sum += std::exp(x[j] - peak);
  for (int64_t j = 0; j < whole; ++j) out[j] = static_cast<float>(std::exp(x[j] - peak) / sum);
  for (int64_t j = whole; j < cols; ++j) out[j] = static_cast<float>(std::exp(x[j] - peak) / sum);
}

}  // namespace

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) softmax_tail(x + i * cols, out + i * cols, cols);
}
