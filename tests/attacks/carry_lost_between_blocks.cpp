// Attack: carry_lost_between_blocks
//
// Tries: scans blocks of 256 columns and forgets to carry the sum into the next block.
// Threats: S37
// Answer: Rows longer than any usual block are among the derived shapes.

#include <cmath>
#include <cstdint>

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; ++i) {
    double sum = 0.0;
    for (int64_t j = 0; j < cols; ++j) {
      if (j % 256 == 0) sum = 0.0;
      sum += x[i * cols + j];
      out[i * cols + j] = static_cast<float>(sum);
    }
  }
}
