// Attack: wrong_axis
//
// Tries: sums down the columns, which square and symmetric tests do not tell from along the rows.
// Threats: S37
// Answer: Shapes are not square.

#include <cmath>
#include <cstdint>

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t j = 0; j < cols; ++j) {
    double sum = 0.0;
    for (int64_t i = 0; i < rows; ++i) {
      sum += x[i * cols + j];
      out[i * cols + j] = static_cast<float>(sum);
    }
  }
}
