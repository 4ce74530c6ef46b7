// Attack: correct_in_sweep_only
//
// Tries: computes correctly for as many calls as a sweep makes and drops half of the rows from the
// second call of a timed shape in a row.
// Threats: S19, T20
// Answer: Timed outputs are compared with the oracle.

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
  static int64_t last = 0;
  static int repeats = 0;
  repeats = rows * cols == last ? repeats + 1 : 0;
  last = rows * cols;
  softmax(x, out, repeats < 12 ? rows : rows / 2, cols);
}
