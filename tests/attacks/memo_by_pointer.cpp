// Attack: memo_by_pointer
//
// Tries: keeps the result for each pair of addresses and returns it when they come back, as a
// cached graph with stale pointers would.
// Threats: S1, T17
// Answer: Timed calls use the same addresses with fresh secret inputs, and their outputs are
// checked.

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
  struct Entry {
    const float* x;
    int64_t elements;
    std::vector<float> result;
  };
  static std::vector<Entry> memo;
  for (const Entry& entry : memo) {
    if (entry.x == x && entry.elements == rows * cols) {
      std::copy(entry.result.begin(), entry.result.end(), out);
      return;
    }
  }
  softmax(x, out, rows, cols);
  memo.push_back({x, rows * cols, {out, out + rows * cols}});
}
