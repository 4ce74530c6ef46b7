// Honest twin of memo_by_fingerprint.
//
// Hashes its input too and does nothing with it.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

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
  const int64_t elements = rows * cols;
  uint64_t key = 14695981039346656037ULL;
  for (int64_t k = 0; k < 64 && elements >= 64; ++k) {
    uint32_t bits = 0;
    __builtin_memcpy(&bits, x + k * (elements / 64), sizeof bits);
    key = (key ^ bits) * 1099511628211ULL;
  }
  asm volatile("" : : "r"(key));
  softmax(x, out, rows, cols);
}
