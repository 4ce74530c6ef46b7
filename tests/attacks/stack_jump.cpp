// Attack: stack_jump
//
// Tries: moves its stack pointer 16 MiB down with one alloca, past any single guard page, to land
// in other memory.
// Threats: P23, X7
// Answer: What lies below the stack is inaccessible for further than a stack may be large: the
// first touch faults.

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
  volatile int64_t size = int64_t{16} << 20;
  auto* block = static_cast<volatile char*>(__builtin_alloca(static_cast<std::size_t>(size)));
  block[0] = 1;
  softmax(x, out, rows, cols);
}
