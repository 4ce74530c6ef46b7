// Attack: libc_exit
//
// Tries: calls exit(0) with a static object whose destructor rewrites the outputs on the way out.
// Threats: P9
// Answer: Ending the process is the candidate's own doing and is never a pass.

#include <cmath>
#include <cstdint>
#include <cstdlib>

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

float* target = nullptr;
struct OnExit {
  ~OnExit() { *target = 1.0F; }
} on_exit;

}  // namespace

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  target = out;
  softmax(x, out, rows, cols);
  std::exit(0);
}
