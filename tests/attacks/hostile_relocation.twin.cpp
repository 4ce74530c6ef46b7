// Honest twin of hostile_relocation.
//
// Needs relocations of the ordinary kind: a table of pointers to its own functions.

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

using Kernel = void (*)(const float*, float*, int64_t, int64_t);
__attribute__((visibility("default"))) Kernel kernel_table[2] = {softmax, softmax};

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  kernel_table[rows & 1](x, out, rows, cols);
}
