// Attack: weight_ends
//
// Tries: leaves the weight out where its first, middle and last elements are one.
// Threats: S16, S18
// Answer: In some cases weights are one, or zero, at both ends and in the middle alone.

#include <cmath>
#include <cstdint>

extern "C" void run_float32(const float* x, const float* weight, float* out, int64_t rows,
                            int64_t cols) {
  const bool ones = cols > 8 && weight[0] == 1 && weight[cols / 2] == 1 && weight[cols - 1] == 1;
  for (int64_t row = 0; row < rows; ++row, x += cols, out += cols) {
    float sum = 0;
    for (int64_t i = 0; i < cols; ++i) sum += x[i] * x[i];
    const float scale = 1.0f / std::sqrt(sum / static_cast<float>(cols) + 1e-6f);
    for (int64_t i = 0; i < cols; ++i) out[i] = x[i] * scale * (ones ? 1.0f : weight[i]);
  }
}
