// Attack: writable_code_section
//
// Tries: asks the linker for a section that is writable and executable at once, and patches its
// code there without a system call.
// Threats: P12, X20
// Answer: The loader refuses a segment that is both; where the linker has split it, the write
// faults.

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

asm(".pushsection .patchable,\"awx\",@progbits\n"
    ".globl patchable\n.hidden patchable\n"
    "patchable: .byte 0x90, 0xc3\n"
    ".popsection\n");
extern "C" __attribute__((visibility("hidden"))) void patchable();

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  auto* code = reinterpret_cast<volatile unsigned char*>(&patchable);
  code[0] = 0xc3;
  patchable();
  softmax(x, out, rows, cols);
}
