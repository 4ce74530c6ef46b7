// Honest twin of weight_ends.
//
// It multiplies by every weight.

#include <cmath>
#include <cstdint>

extern "C" void run_float32(const float* x, const float* weight, float* out, int64_t rows,
                            int64_t cols) {
  for (int64_t row = 0; row < rows; ++row, x += cols, out += cols) {
    float sum = 0;
    for (int64_t i = 0; i < cols; ++i) sum += x[i] * x[i];
    const float scale = 1.0f / std::sqrt(sum / static_cast<float>(cols) + 1e-6f);
    for (int64_t i = 0; i < cols; ++i) out[i] = x[i] * scale * weight[i];
  }
}
