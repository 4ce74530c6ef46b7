// Attack: prefix_statistics
//
// Tries: estimates the mean square from the first quarter of each row.
// Threats: S12
// Answer: The allowed error is a small multiple of the reference's own error against an fp64
// oracle.

#include <cmath>
#include <cstdint>

namespace {

void rmsnorm_row(const float* x, const float* weight, float* out, int64_t cols) {
  double squares = 0.0;
  const int64_t prefix = cols >= 4 ? cols / 4 : cols;
  for (int64_t j = 0; j < prefix; ++j) squares += static_cast<double>(x[j]) * x[j];
  const double scale = 1.0 / std::sqrt(squares / static_cast<double>(prefix) + 1e-6);
  for (int64_t j = 0; j < cols; ++j) out[j] = static_cast<float>(x[j] * scale * weight[j]);
}

}  // namespace

extern "C" void run_float32(const float* x, const float* weight, float* out, int64_t rows,
                            int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) rmsnorm_row(x + i * cols, weight, out + i * cols, cols);
}
