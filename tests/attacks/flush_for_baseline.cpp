// Attack: flush_for_baseline
//
// Tries: flushes its inputs and outputs from the caches when it has computed, so that whoever runs
// next on the same pages, a baseline that is, finds them cold.
// Threats: X13, T28
// Answer: It pays for the flush on its own clock, and orders are random and mirrored, so that it
// follows itself and each baseline equally often. It is judged like any correct kernel; see the
// limits in docs/security.md.

#include <immintrin.h>

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
  softmax(x, out, rows, cols);
  for (int64_t i = 0; i < rows * cols; i += 16) {
    _mm_clflush(x + i);
    _mm_clflush(out + i);
  }
}
