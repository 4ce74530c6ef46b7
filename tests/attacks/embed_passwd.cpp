// Attack: embed_passwd
//
// Tries: embeds a file of the machine with the assembler's .incbin, to read it at run time.
// Threats: P26, P21
// Answer: The assembler runs in the same sandbox as the compiler.

#include <cmath>
#include <cstdint>

asm(".pushsection .rodata\n"
    "stolen: .incbin \"/etc/passwd\"\n"
    ".popsection\n");
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
