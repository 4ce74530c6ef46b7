// Attack: hostile_dynamic_section
//
// Tries: adds entries to the dynamic section by hand: a needed library, a run path and tables at
// absurd addresses.
// Threats: X3, P15
// Answer: The linker writes the dynamic section itself and drops such entries; where one survives,
// the loader checks every table's address and size and loads no other library.

#include <cmath>
#include <cstdint>

// Elf64_Dyn {tag, value}: DT_NEEDED 1, DT_RELA 7, DT_RELASZ 8, DT_STRTAB 5.
asm(".pushsection .dynamic,\"aw\",@progbits\n"
    ".quad 1, 1\n"
    ".quad 7, 0x7fffffffffff0000\n"
    ".quad 8, 0x7fffffffffffffff\n"
    ".quad 5, 0x4141414141414141\n"
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
