// Attack: rough_exponential
//
// Tries: replaces exp by the well-known trick of adding to the exponent bits, right to a few
// percent.
// Threats: S13, S39
// Answer: The allowed error is a small multiple of the reference's own error against an fp64
// oracle.

#include <cmath>
#include <cstdint>

namespace {

float rough_exp(float value) {
  if (!(value > -87.0F)) return value != value ? value : 0.0F;
  const auto bits = static_cast<int32_t>(value * 12102203.0F + 1064866805.0F);
  float result = 0.0F;
  __builtin_memcpy(&result, &bits, sizeof result);
  return result;
}
void softmax_row(const float* x, float* out, int64_t cols) {
  float peak = -INFINITY;
  for (int64_t j = 0; j < cols; ++j) peak = x[j] > peak ? x[j] : peak;
  double sum = 0.0;
  for (int64_t j = 0; j < cols; ++j) {
    out[j] = rough_exp(x[j] - peak);
    sum += out[j];
  }
  for (int64_t j = 0; j < cols; ++j) out[j] = static_cast<float>(out[j] / sum);
}

}  // namespace

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) softmax_row(x + i * cols, out + i * cols, cols);
}
