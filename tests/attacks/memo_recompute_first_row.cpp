// Attack: memo_recompute_first_row
//
// Tries: keeps its last results by address, recomputes row 0 only and reuses the rest: it defeats
// referees that poke a few elements.
// Threats: S3, S1
// Answer: All values are fresh for every timed pair, and timed outputs are checked in full.

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
  static const float* last_x = nullptr;
  static int64_t last_elements = 0;
  static std::vector<float> last;
  if (last_x == x && last_elements == rows * cols && rows > 1) {
    std::copy(last.begin(), last.end(), out);
    softmax_row(x, out, cols);
    return;
  }
  softmax(x, out, rows, cols);
  last_x = x;
  last_elements = rows * cols;
  last.assign(out, out + rows * cols);
}
