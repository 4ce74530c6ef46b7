// Attack: library_call
//
// Tries: calls a library's kernel instead of having one.
// Threats: F1, F2, F7
// Answer: The loader offers the C and C++ standard libraries and nothing else: the symbol is
// unknown.

#include <cmath>
#include <cstdint>

extern "C" void cblas_sgemm(int, int, int, int, int, int, float, const float*, int, const float*,
                            int, float, float*, int);
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
  cblas_sgemm(101, 111, 111, 1, 1, 1, 1.0F, x, 1, x, 1, 0.0F, out, 1);
}
