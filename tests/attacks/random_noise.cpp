// Attack: random_noise
//
// Tries: adds noise of one unit in the last place from the processor's generator, well within any
// tolerance: what it computes cannot be repeated.
// Threats: S22
// Answer: Each case is replayed, and replays must agree to the last bit.

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
  for (int64_t i = 0; i < rows * cols; ++i) {
    unsigned long long noise = 0;
    if (i % 64 == 0) __builtin_ia32_rdrand64_step(&noise);
    uint32_t bits = 0;
    __builtin_memcpy(&bits, &out[i], sizeof bits);
    if (out[i] > 0.0F && out[i] < 1.0F) bits ^= static_cast<uint32_t>(noise & 1);
    __builtin_memcpy(&out[i], &bits, sizeof bits);
  }
}
