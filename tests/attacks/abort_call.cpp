// Attack: abort_call
//
// Tries: aborts, so that a careless harness calls it the machine's failure and judges again.
// Threats: P23
// Answer: A signal that the candidate causes is a runtime error of the candidate.

#include <cmath>
#include <cstdint>
#include <cstdlib>

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  std::abort();
}
