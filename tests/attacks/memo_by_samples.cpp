// Attack: memo_by_samples
//
// Tries: answers from memory where the shape and sixteen elements are those of the last call.
// Threats: S2
// Answer: Inputs come again, but for one number in one row of eight.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

std::array<float, 16> last_samples;
std::vector<float> last_result;
int64_t last_cols = 0;

void softmax(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t row = 0; row < rows; ++row, x += cols, out += cols) {
    float top = x[0], sum = 0;
    for (int64_t i = 1; i < cols; ++i) top = x[i] > top || std::isnan(x[i]) ? x[i] : top;
    for (int64_t i = 0; i < cols; ++i) sum += out[i] = std::exp(x[i] - top);
    for (int64_t i = 0; i < cols; ++i) out[i] /= sum;
  }
}

}  // namespace

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  const int64_t count = rows * cols;
  if (count == 0) return;
  std::array<float, 16> samples;
  for (int64_t i = 0; i < 16; ++i) samples[i] = x[(count - 1) * i / 15];
  if (cols == last_cols && count == static_cast<int64_t>(last_result.size()) &&
      samples == last_samples) {
    std::copy(last_result.begin(), last_result.end(), out);
    return;
  }
  softmax(x, out, rows, cols);
  last_samples = samples;
  last_cols = cols;
  last_result.assign(out, out + count);
}
