// Honest twin of ifunc_resolver_syscall.
//
// Chooses between two kernels in an IFUNC resolver by what the processor offers, which is what
// IFUNCs are for.

#include <cpuid.h>

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

extern "C" {
static void plain(const float* x, float* out, int64_t rows, int64_t cols) {
  softmax(x, out, rows, cols);
}
static void wide(const float* x, float* out, int64_t rows, int64_t cols) {
  softmax(x, out, rows, cols);
}
using Kernel = void(const float*, float*, int64_t, int64_t);
__attribute__((used)) static Kernel* resolve_chosen() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  __get_cpuid(1, &a, &b, &c, &d);
  return (c & bit_AVX) != 0 ? wide : plain;
}
void chosen(const float* x, float* out, int64_t rows, int64_t cols)
    __attribute__((ifunc("resolve_chosen")));
}

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  chosen(x, out, rows, cols);
}
