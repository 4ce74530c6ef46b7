// Honest twin of wrong_axis.
//
// Sums along the rows, several rows at a time.

#include <cmath>
#include <cstdint>

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (int64_t i = 0; i < rows; i += 4) {
    double sum[4] = {};
    const int64_t batch = rows - i < 4 ? rows - i : 4;
    for (int64_t j = 0; j < cols; ++j) {
      for (int64_t k = 0; k < batch; ++k) {
        sum[k] += x[(i + k) * cols + j];
        out[(i + k) * cols + j] = static_cast<float>(sum[k]);
      }
    }
  }
}
