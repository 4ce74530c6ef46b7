// Attack: timestamp_counter
//
// Tries: reads the time-stamp counter between its calls and computes only the first half of the
// rows when they follow each other quickly, as timed calls do.
// Threats: T20, P25, S22
// Answer: Timed outputs are checked outputs, so a branch on time changes what is wrong, never
// whether it is seen; where the processor allows it the counter is switched off and reading it
// faults.

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

uint64_t last = 0;

}  // namespace

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  const uint64_t now = __builtin_ia32_rdtsc();
  const bool timed = last != 0 && now - last < 40'000'000;
  softmax(x, out, timed ? rows / 2 : rows, cols);
  last = __builtin_ia32_rdtsc();
}
