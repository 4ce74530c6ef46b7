// Attack: bf16_accumulation
//
// Tries: truncates to bfloat16 after every step of the sum, as a kernel would that pays for less
// precision than the problem asks for.
// Threats: S13
// Answer: The allowed error is a small multiple of the reference's own error against an fp64
// oracle.

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
  float squares = 0.0F;
  for (int64_t j = 0; j < cols; ++j) squares = to_bf16(squares + to_bf16(x[j]) * to_bf16(x[j]));
  const double scale = 1.0 / std::sqrt(squares / static_cast<double>(cols) + 1e-6);
  for (int64_t j = 0; j < cols; ++j) out[j] = static_cast<float>(x[j] * scale * weight[j]);
}

}  // namespace

extern "C" void run_float32(const float* x, const float* weight, float* out, int64_t rows,
                            int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) rmsnorm_row(x + i * cols, weight, out + i * cols, cols);
}
