// Attack: address_scan
//
// Tries: walks upwards from its output page by page, looking for the oracle or another buffer.
// Threats: P4, X7, P2
// Answer: The oracle is in another process; the walk meets the guard page and faults.

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
volatile char sink = 0;
}  // namespace

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  softmax(x, out, rows, cols);
  const auto* page = reinterpret_cast<const volatile char*>(out);
  for (int64_t i = 0; i < (int64_t{1} << 18); ++i) sink = page[i * 4096];
}
