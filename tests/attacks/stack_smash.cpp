// Attack: stack_smash
//
// Tries: overwrites the frames above its own, where the executor's return address and its loop's
// state lie.
// Threats: P1, P3, T11
// Answer: The executor's frames decide nothing: clock, oracle and comparison are in another
// process. A smashed stack faults, and the fault is the candidate's.

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
  softmax(x, out, rows, cols);
  auto* frame = static_cast<void* volatile*>(__builtin_frame_address(0));
  for (int i = 0; i < 512; ++i) frame[i] = nullptr;
}
