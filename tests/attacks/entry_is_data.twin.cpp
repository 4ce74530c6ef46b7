// Honest twin of entry_is_data.
//
// Defines its entry point in assembly too, as a function that jumps to the kernel.

#include <cmath>
#include <cstdint>

extern "C" __attribute__((used, visibility("hidden"))) void kernel(const float* x, float* out,
                                                                   int64_t rows, int64_t cols);
asm(".text\n"
    ".globl run_float32\n.type run_float32, @function\n"
    "run_float32: jmp kernel\n"
    ".size run_float32, . - run_float32\n");
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

extern "C" void kernel(const float* x, float* out, int64_t rows, int64_t cols) {
  softmax(x, out, rows, cols);
}
