// Honest twin of rounding_mode_left.
//
// Sets the rounding mode it wants, the default, and computes.

#include <cmath>
#include <cstdint>

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() & ~0x6000U);

  for (int64_t i = 0; i < rows; ++i) {
    double sum = 0.0;
    for (int64_t j = 0; j < cols; ++j) {
      sum += x[i * cols + j];
      out[i * cols + j] = static_cast<float>(sum);
    }
  }
}
