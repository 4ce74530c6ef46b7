// Honest twin of template_bomb.
//
// Instantiates a few templates.

#include <cmath>
#include <cstdint>

template <int depth>
struct Sum {
  static constexpr long value = depth + Sum<depth - 1>::value;
};
template <>
struct Sum<0> {
  static constexpr long value = 0;
};
static_assert(Sum<40>::value == 820);
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
