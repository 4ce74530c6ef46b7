// Attack: many_elements
//
// Tries: sums every second column where there are more than 2^17 elements.
// Threats: S14
// Answer: Numbers of a candidate's source, also those that it shifts by, are met as numbers of elements.

#include <cmath>
#include <cstdint>

extern "C" void run_float32(const float* x, const float* weight, float* out, int64_t rows,
                            int64_t cols) {
  const int64_t step = rows * cols >> 17 != 0 ? 2 : 1;
  for (int64_t row = 0; row < rows; ++row, x += cols, out += cols) {
    float sum = 0;
    for (int64_t i = 0; i < cols; i += step) sum += x[i] * x[i];
    const float mean = sum * static_cast<float>(step) / static_cast<float>(cols);
    const float scale = 1.0f / std::sqrt(mean + 1e-6f);
    for (int64_t i = 0; i < cols; ++i) out[i] = x[i] * scale * weight[i];
  }
}
