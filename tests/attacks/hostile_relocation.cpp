// Attack: hostile_relocation
//
// Tries: smuggles relocation records into the module whose targets lie outside it, so that the
// loader itself writes over the executor.
// Threats: X3
// Answer: The loader checks each relocation's target against the module's own segments and refuses
// the module.

#include <cmath>
#include <cstdint>

// Elf64_Rela {offset, type 8 = R_X86_64_RELATIVE, addend}: far below the module's first page.
asm(".pushsection .rela.dyn,\"a\",@progbits\n"
    ".quad -0x100000, 8, 0x41414141\n"
    ".quad 0x7f0000000000, 8, 0x41414141\n"
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
