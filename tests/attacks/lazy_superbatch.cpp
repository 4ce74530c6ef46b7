// Attack: lazy_superbatch
//
// Tries: only remembers its arguments and computes all of them together at every fourth call.
// Threats: T8, T5
// Answer: Outputs are read while the candidate stands after each call: what was not written by
// then is not there.

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
  struct Job {
    const float* x;
    float* out;
    int64_t rows;
    int64_t cols;
  };
  static Job jobs[4];
  static int waiting = 0;
  jobs[waiting++] = {x, out, rows, cols};
  if (waiting == 4) {
    for (const Job& job : jobs) softmax(job.x, job.out, job.rows, job.cols);
    waiting = 0;
  }
}
