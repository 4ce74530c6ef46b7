// Attack: vsyscall_page
//
// Tries: calls the legacy vsyscall page for the time, which is no syscall instruction.
// Threats: P12, T20
// Answer: The kernel passes such calls to the filter like any other, where it maps the page at
// all.

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
  long now[2] = {};
  reinterpret_cast<long (*)(long*, void*)>(0xffffffffff600000)(now, nullptr);
  softmax(x, out, rows, cols);
}
