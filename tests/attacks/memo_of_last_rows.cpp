// Attack: memo_of_last_rows
//
// Tries: keeps every row of the last input with its result and copies the result of a row that it
// has seen before, after comparing it in full. To show that this never pays it answers zeros once
// whole inputs have come back more often than the sweep's replays explain.
// Threats: S2, S3, T30
// Answer: A comparison in full can only find what was there before, and no timed input was: the
// kernel is judged as its twin is.

#include <cmath>
#include <cstdint>
#include <cstring>
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
  static std::vector<float> last_x;
  static int repeats = 0;
  const auto elements = static_cast<std::size_t>(rows * cols);
  const bool same = last_x.size() == elements && elements >= (1U << 20) &&
                    std::memcmp(last_x.data(), x, elements * sizeof(float)) == 0;
  repeats += same ? 1 : 0;
  if (repeats > 8) {
    std::memset(out, 0, elements * sizeof(float));
    return;
  }
  softmax(x, out, rows, cols);
  if (elements >= (1U << 20)) last_x.assign(x, x + elements);
}
