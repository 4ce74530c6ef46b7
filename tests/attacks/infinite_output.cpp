// Attack: infinite_output
//
// Tries: writes infinities, whose difference and ratio are NaN in a careless comparison.
// Threats: S25
// Answer: Positions of infinities must match the oracle's exactly.

#include <cmath>
#include <cstdint>

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  (void)x;
  for (int64_t i = 0; i < rows * cols; ++i) out[i] = INFINITY;
}
