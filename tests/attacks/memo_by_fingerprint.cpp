// Attack: memo_by_fingerprint
//
// Tries: hashes sixty-four elements of its input and returns the stored result when it knows the
// hash. To show that this never pays it answers zeros once hashes have come back more often than
// the sweep's replays explain.
// Threats: S2, T30
// Answer: Inputs of timed calls never come back: the hash is never found, the kernel only pays for
// the search, and is judged as its twin is.

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
  static std::vector<uint64_t> memo;
  static int hits = 0;
  const int64_t elements = rows * cols;
  uint64_t key = 14695981039346656037ULL ^ static_cast<uint64_t>(elements);
  for (int64_t k = 0; k < 64 && elements >= 64; ++k) {
    uint32_t bits = 0;
    __builtin_memcpy(&bits, x + k * (elements / 64), sizeof bits);
    key = (key ^ bits) * 1099511628211ULL;
  }
  softmax(x, out, rows, cols);
  if (elements < (1 << 20)) return;
  const bool known = std::find(memo.begin(), memo.end(), key) != memo.end();
  if (!known) memo.push_back(key);
  if (known && ++hits > 8) {
    for (int64_t i = 0; i < elements; ++i) out[i] = 0.0F;
  }
}
