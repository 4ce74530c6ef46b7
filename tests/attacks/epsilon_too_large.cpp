// Attack: epsilon_too_large
//
// Tries: uses 1e-5 for epsilon where the problem says 1e-6.
// Threats: S37
// Answer: A family of tiny values makes epsilon matter.

#include <cmath>
#include <cstdint>

namespace {

void rmsnorm_row(const float* x, const float* weight, float* out, int64_t cols) {
  double squares = 0.0;
  for (int64_t j = 0; j < cols; ++j) squares += static_cast<double>(x[j]) * x[j];
  const double scale = 1.0 / std::sqrt(squares / static_cast<double>(cols) + 1e-5);
  for (int64_t j = 0; j < cols; ++j) out[j] = static_cast<float>(x[j] * scale * weight[j]);
}

}  // namespace

extern "C" void run_float32(const float* x, const float* weight, float* out, int64_t rows,
                            int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) rmsnorm_row(x + i * cols, weight, out + i * cols, cols);
}
