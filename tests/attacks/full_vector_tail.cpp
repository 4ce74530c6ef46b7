// Attack: full_vector_tail
//
// Tries: rounds each row up to whole vectors of 16, reading and writing past its end, and repairs
// the overlap by computing rows in order.
// Threats: S15, S23, S24
// Answer: The last row's overrun meets the canaries or the guard page.

#include <cmath>
#include <cstdint>

namespace {

void softmax_padded(const float* x, float* out, int64_t cols) {
  const int64_t padded = (cols + 15) / 16 * 16;
  float peak = -INFINITY;
  for (int64_t j = 0; j < cols; ++j) peak = x[j] > peak ? x[j] : peak;
  double sum = 0.0;
  for (int64_t j = 0; j < cols; ++j) sum += std::exp(x[j] - peak);
  volatile float* target = out;
  for (int64_t j = 0; j < padded; ++j) target[j] = static_cast<float>(std::exp(x[j] - peak) / sum);
}

}  // namespace

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) softmax_padded(x + i * cols, out + i * cols, cols);
}
