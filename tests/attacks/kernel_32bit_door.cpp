// Attack: kernel_32bit_door
//
// Tries: enters the kernel through int 0x80, whose numbers mean other calls: 1 is exit there and
// write on x86-64.
// Threats: P12, P20
// Answer: The filter checks the architecture of a call before its number: the 32-bit door is a
// finding of its own.

#include <sys/syscall.h>

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
  long result = 4;
  asm volatile("int $0x80" : "+a"(result) : "b"(1), "c"(0), "d"(0) : "memory");

  softmax(x, out, rows, cols);
}
