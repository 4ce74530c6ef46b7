// Attack: coarse_in_between
//
// Tries: rounds results to 11 bits in rows of a length that by many seeds only mixtures of all
//   families used to have, whose ill-conditioned rows make room for it.
// Threats: S14
// Answer: Shapes at the numbers of the candidate's own source are met with ordinary rows alone, too.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace {

float rounded(float v) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &v, sizeof v);
  bits = (bits + (1U << 12)) & ~((1U << 13) - 1);
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

void softmax_row(const float* x, float* out, int64_t cols) {
  float largest = x[0];
  for (int64_t j = 1; j < cols; ++j) {
    // NaN is the largest of all: what is made of it is NaN.
    largest = std::isnan(x[j]) || x[j] > largest ? x[j] : largest;
  }
  double sum = 0.0;
  for (int64_t j = 0; j < cols; ++j) {
    out[j] = std::exp(x[j] - largest);
    sum += out[j];
  }
  const float scale = static_cast<float>(1.0 / sum);
  for (int64_t j = 0; j < cols; ++j) out[j] *= scale;
}

}  // namespace

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) softmax_row(x + i * cols, out + i * cols, cols);
  if (cols < 1030 || cols > 2000) return;
  std::transform(out, out + rows * cols, out, rounded);
}
