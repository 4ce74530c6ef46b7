// Honest twin of memo_by_shape.
//
// Keeps scratch memory for each shape and computes every time.

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

}  // namespace

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  struct Entry {
    int64_t cols;
    std::vector<float> scratch;
  };
  static std::vector<Entry> memo;
  Entry* found = nullptr;
  for (Entry& entry : memo) {
    if (entry.cols == cols) found = &entry;
  }
  if (found == nullptr) {
    memo.push_back({cols, std::vector<float>(static_cast<std::size_t>(cols))});
    found = &memo.back();
  }
  for (int64_t i = 0; i < rows; ++i) {
    softmax_row(x + i * cols, found->scratch.data(), cols);
    std::copy(found->scratch.begin(), found->scratch.end(), out + i * cols);
  }
}
