// Attack: nan_everywhere
//
// Tries: writes NaN everywhere, for which a comparison that asks 'is the error too large?' answers
// no.
// Threats: S25
// Answer: Positions of NaN must match the oracle's exactly.

#include <cmath>
#include <cstdint>

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  (void)x;
  for (int64_t i = 0; i < rows * cols; ++i) out[i] = NAN;
}
