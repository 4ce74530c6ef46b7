// Honest twin of bf16_accumulation.
//
// Accumulates in float32 with eight partial sums, faster than the reference and as exact.

#include <cmath>
#include <cstdint>

namespace {

void rmsnorm_row(const float* x, const float* weight, float* out, int64_t cols) {
  float partial[8] = {};
  for (int64_t j = 0; j < cols; ++j) partial[j & 7] += x[j] * x[j];
  float squares = 0.0F;
  for (const float part : partial) squares += part;
  const float scale = 1.0F / std::sqrt(squares / static_cast<float>(cols) + 1e-6F);
  for (int64_t j = 0; j < cols; ++j) out[j] = x[j] * scale * weight[j];
}

}  // namespace

extern "C" void run_float32(const float* x, const float* weight, float* out, int64_t rows,
                            int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) rmsnorm_row(x + i * cols, weight, out + i * cols, cols);
}
