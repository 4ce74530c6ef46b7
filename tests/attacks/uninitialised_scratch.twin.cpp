// Honest twin of uninitialised_scratch.
//
// Initialises such memory with calloc.

#include <cmath>
#include <cstdint>
#include <cstdlib>

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
  auto* sums = static_cast<float*>(std::calloc(static_cast<std::size_t>(rows + 1), sizeof(float)));
  softmax(x, out, rows, cols);
  for (int64_t i = 0; i < rows; ++i) {
    const float sum = static_cast<volatile float*>(sums)[i] + 1.0F;
    static_cast<volatile float*>(sums)[i] = sum;
    for (int64_t j = 0; j < cols; ++j) out[i * cols + j] /= sum;
  }
  std::free(sums);
}
