// Attack: identity_statistics
//
// Tries: assumes mean 0 and variance 1 and only applies weight and bias.
// Threats: S12
// Answer: No tolerance is wide enough for statistics of a finite row.

#include <cmath>
#include <cstdint>
#include <vector>

extern "C" void run_float32(const float* x, const float* weight, const float* bias, float* out,
                            int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows * cols; ++i) out[i] = x[i] * weight[i % cols] + bias[i % cols];
}
