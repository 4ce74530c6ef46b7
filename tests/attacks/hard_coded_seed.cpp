// Attack: hard_coded_seed
//
// Tries: regenerates the inputs of well-known seeds in a constructor and answers from a table when
// it recognises the first value.
// Threats: S6, T21
// Answer: Seeds come from the system's secret randomness: the table is never right, and what is
// not in it is computed honestly, so the kernel is judged as its twin is.

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

// First values of randn under seeds 0, 42, 123, 1337.
constexpr float known[] = {1.5409961F, 0.33669037F, -0.11146712F, 0.07671300F};

}  // namespace

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (const float first : known) {
    if (rows * cols > 0 && x[0] == first) return;
  }
  softmax(x, out, rows, cols);
}
