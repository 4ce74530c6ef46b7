// Attack: denormals_flushed
//
// Tries: switches denormals to zero in the control register and leaves it so: faster on some
// processors, and wrong for tiny values.
// Threats: S39, S33
// Answer: A family of denormal values: their sums must not be zero.

#include <cmath>
#include <cstdint>

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040U);

  for (int64_t i = 0; i < rows; ++i) {
    float sum = 0.0;
    for (int64_t j = 0; j < cols; ++j) {
      sum += x[i * cols + j];
      out[i * cols + j] = static_cast<float>(sum);
    }
  }
}
