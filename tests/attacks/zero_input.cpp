// Attack: zero_input
//
// Tries: zeroes its input so that a reference which runs afterwards on the same memory also gives
// the trivial answer.
// Threats: S8
// Answer: Inputs are read-only, and the oracle was computed before, in another process, from the
// referee's own copy.

#include <cmath>
#include <cstdint>

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  auto* target = const_cast<float*>(x);
  for (int64_t i = 0; i < rows * cols; ++i) {
    target[i] = 0.0F;
    out[i] = 1.0F / static_cast<float>(cols);
  }
}
