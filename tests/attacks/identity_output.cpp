// Attack: identity_output
//
// Tries: copies its input.
// Threats: S10
// Answer: The problem itself proves before any candidate that its input is not an answer.

#include <cmath>
#include <cstdint>

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows * cols; ++i) out[i] = x[i];
}
