// Attack: write_input
//
// Tries: changes its first input element in place and puts it back.
// Threats: S8, S9
// Answer: Inputs are mapped read-only in the candidate's process: the store faults.

#include <cmath>
#include <cstdint>

namespace {

void softmax_row(const float* x, float* out, int64_t cols) {
  float peak = -INFINITY;
  for (int64_t j = 0; j < cols; ++j) peak = x[j] > peak ? x[j] : peak;
  double sum = 0.0;
  for (int64_t j = 0; j < cols; ++j) {
    out[j] = std::exp(x[j] - peak);
    sum += out[j];
  }
  for (int64_t j = 0; j < cols; ++j) out[j] = static_cast<float>(out[j] / sum);
}

void softmax(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) softmax_row(x + i * cols, out + i * cols, cols);
}

}  // namespace

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  auto* scratch = const_cast<volatile float*>(x);
  if (rows * cols > 0) {
    const float saved = scratch[0];
    scratch[0] = 0.0F;
    scratch[0] = saved;
  }
  softmax(x, out, rows, cols);
}
