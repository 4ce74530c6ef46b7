// Attack: least_of_what_is_there
//
// Tries: leaves the smaller of its result and of what its output holds, which is right where that
// is NaN.
// Threats: S20
// Answer: Outputs hold NaN before one replay of a case, and before the other zero, one or a large
// number of either sign.

#include <cmath>
#include <cstdint>

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) {
    const float* in = x + i * cols;
    float peak = -INFINITY;
    for (int64_t j = 0; j < cols; ++j) peak = in[j] > peak ? in[j] : peak;
    double sum = 0.0;
    for (int64_t j = 0; j < cols; ++j) sum += std::exp(in[j] - peak);
    for (int64_t j = 0; j < cols; ++j) {
      float& there = out[i * cols + j];
      there = std::fmin(there, static_cast<float>(std::exp(in[j] - peak) / sum));
    }
  }
}
