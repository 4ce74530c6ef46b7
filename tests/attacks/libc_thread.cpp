// Attack: libc_thread
//
// Tries: computes in a std::thread and returns without joining it.
// Threats: T3, T4
// Answer: There are no threads: whether the loader refuses the symbol or the kernel is asked for
// one, the candidate ends there.

#include <cmath>
#include <cstdint>
#include <thread>

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
  std::thread([=] { softmax(x, out, rows, cols); }).detach();
}
