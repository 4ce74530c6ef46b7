// Honest twin of bf16_inputs.
//
// Splits its inputs in a bfloat16 part and a rest, and uses both.

#include <cmath>
#include <cstdint>

namespace {

float to_bf16(float value) {
  uint32_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof bits);
  bits &= 0xffff0000U;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

void rmsnorm_row(const float* x, const float* weight, float* out, int64_t cols) {
  double squares = 0.0;
  for (int64_t j = 0; j < cols; ++j) squares += static_cast<double>(x[j]) * x[j];
  const double scale = 1.0 / std::sqrt(squares / static_cast<double>(cols) + 1e-6);
  for (int64_t j = 0; j < cols; ++j) {
    const float high = to_bf16(x[j]);
    const float low = x[j] - high;
    out[j] = static_cast<float>((static_cast<double>(high) + low) * scale * weight[j]);
  }
}

}  // namespace

extern "C" void run_float32(const float* x, const float* weight, float* out, int64_t rows,
                            int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) rmsnorm_row(x + i * cols, weight, out + i * cols, cols);
}
