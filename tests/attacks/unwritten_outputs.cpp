// Attack: unwritten_outputs
//
// Tries: returns without writing anything, hoping that the memory still holds the reference's
// result.
// Threats: S7, S10
// Answer: Outputs are filled with a pattern before every replay, and with another one before the
// next.

#include <cmath>
#include <cstdint>

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  (void)x;
  (void)out;
  (void)rows;
  (void)cols;
}
