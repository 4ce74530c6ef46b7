// Attack: template_bomb
//
// Tries: instantiates templates exponentially.
// Threats: P23
// Answer: The compiler's time and memory are limited.

#include <cmath>
#include <cstdint>

template <int depth, long id>
struct Bomb {
  static constexpr long value = Bomb<depth - 1, 2 * id>::value + Bomb<depth - 1, 2 * id + 1>::value;
};
template <long id>
struct Bomb<0, id> {
  static constexpr long value = id;
};
static_assert(Bomb<40, 1>::value != 0);
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
}
