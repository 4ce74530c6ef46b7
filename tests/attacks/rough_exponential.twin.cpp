// Honest twin of rough_exponential.
//
// Replaces exp by a reduction to powers of two and a polynomial of degree 7, right to about one
// unit in the last place.

#include <cmath>
#include <cstdint>

namespace {

float fast_exp(float value) {
  if (!(value > -87.0F)) return value != value ? value : std::exp(value);
  const float whole = __builtin_floorf(value * 1.44269504F + 0.5F);
  const float rest = (value - whole * 0.693359375F) + whole * 2.12194440e-4F;
  float sum = 1.9841270e-4F;
  sum = sum * rest + 1.3888889e-3F;
  sum = sum * rest + 8.3333333e-3F;
  sum = sum * rest + 4.1666667e-2F;
  sum = sum * rest + 1.6666667e-1F;
  sum = sum * rest + 0.5F;
  sum = sum * rest + 1.0F;
  sum = sum * rest + 1.0F;
  const uint32_t bits = static_cast<uint32_t>(static_cast<int32_t>(whole) + 127) << 23;
  float power = 0.0F;
  __builtin_memcpy(&power, &bits, sizeof power);
  return sum * power;
}
void softmax_row(const float* x, float* out, int64_t cols) {
  float peak = -INFINITY;
  for (int64_t j = 0; j < cols; ++j) peak = x[j] > peak ? x[j] : peak;
  double sum = 0.0;
  for (int64_t j = 0; j < cols; ++j) {
    out[j] = fast_exp(x[j] - peak);
    sum += out[j];
  }
  for (int64_t j = 0; j < cols; ++j) out[j] = static_cast<float>(out[j] / sum);
}

}  // namespace

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) softmax_row(x + i * cols, out + i * cols, cols);
}
