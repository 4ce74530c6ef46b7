// Attack: zero_output
//
// Tries: writes zeros: the true values of a wide softmax are smaller than many an absolute
// tolerance.
// Threats: S11
// Answer: The allowed error of an element scales with the element, so zero is not close to a small
// number.

#include <cmath>
#include <cstdint>

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  (void)x;
  for (int64_t i = 0; i < rows * cols; ++i) out[i] = 0.0F;
}
