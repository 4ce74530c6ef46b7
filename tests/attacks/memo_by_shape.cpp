// Attack: memo_by_shape
//
// Tries: keeps one result for each shape and returns it whenever the shape comes back.
// Threats: S4, T30
// Answer: Cases of one shape have different secret values, and each placement has other pages.

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
    int64_t rows;
    int64_t cols;
    std::vector<float> result;
  };
  static std::vector<Entry> memo;
  for (const Entry& entry : memo) {
    if (entry.rows == rows && entry.cols == cols) {
      std::copy(entry.result.begin(), entry.result.end(), out);
      return;
    }
  }
  softmax(x, out, rows, cols);
  if (rows * cols <= (1 << 20)) memo.push_back({rows, cols, {out, out + rows * cols}});
}
