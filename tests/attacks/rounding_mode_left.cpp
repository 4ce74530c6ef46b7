// Attack: rounding_mode_left
//
// Tries: sets the rounding mode to upwards and leaves it so, to spoil whoever computes after it in
// the same thread; it computes in float32, so the mode drifts its own long sums.
// Threats: S33
// Answer: Nobody computes after it in its process: reference, oracle and baselines have processes
// of their own. Its own sums are judged as they are.

#include <cmath>
#include <cstdint>

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  __builtin_ia32_ldmxcsr((__builtin_ia32_stmxcsr() & ~0x6000U) | 0x4000U);

  for (int64_t i = 0; i < rows; ++i) {
    float sum = 0.0;
    for (int64_t j = 0; j < cols; ++j) {
      sum += x[i * cols + j];
      out[i * cols + j] = static_cast<float>(sum);
    }
  }
}
