// Honest twin of libc_exit.
//
// Uses a scope guard where the cheat uses a static object.

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

struct Guard {
  float* out;
  int64_t elements;
  ~Guard() {
    for (int64_t i = 0; i < elements; ++i) out[i] = out[i] < 1.0F ? out[i] : 1.0F;
  }
};

}  // namespace

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  const Guard guard{out, rows * cols};
  softmax(x, out, rows, cols);
}
