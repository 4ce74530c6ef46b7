// Attack: constant_output
//
// Tries: answers 1 / cols everywhere, the mean of every softmax.
// Threats: S11, S12
// Answer: Value families hold spikes and sorted rows, and no tolerance is wide enough for a mean.

#include <cmath>
#include <cstdint>

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  (void)x;
  for (int64_t i = 0; i < rows * cols; ++i) out[i] = 1.0F / static_cast<float>(cols);
}
