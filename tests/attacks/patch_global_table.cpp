// Attack: patch_global_table
//
// Tries: overwrites an entry of its global offset table at run time, to divert calls between
// inspection and use.
// Threats: P5, T11
// Answer: It diverts nobody but itself: neither the executor nor anybody else calls through the
// module's table. The attack changes nothing.

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

extern "C" {
__attribute__((visibility("default"))) volatile int anchor = 1;
}

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  void** entry = nullptr;
  asm volatile("leaq anchor@GOTPCREL(%%rip), %0" : "=r"(entry));
  *static_cast<void* volatile*>(entry) = *entry;
  softmax(x, out, rows, cols);
}
