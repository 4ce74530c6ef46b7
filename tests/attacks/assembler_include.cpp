// Attack: assembler_include
//
// Tries: reads a file of the machine through the assembler, here the kernel's name, and defines a
// macro for what it expects to find, so that what is in the file decides what is compiled.
// Threats: P25, P26
// Answer: The assembler runs in the same sandbox as the compiler: the file cannot be read.

#include <cmath>
#include <cstdint>

asm(".macro linux\n.endm\n"
    ".include \"/proc/sys/kernel/ostype\"\n");
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
  softmax(x, out, rows, cols);
}
