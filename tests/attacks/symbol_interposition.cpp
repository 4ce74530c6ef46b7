// Attack: symbol_interposition
//
// Tries: exports functions under the names of libc's and the executor's own (write, memcpy,
// clock_gettime, main, _start, syscall), hoping that the executor calls them.
// Threats: X3, P5, T11
// Answer: Symbols flow from the executor to the module and never back. The attack changes nothing:
// each of these functions would betray itself with a system call if it were called.

#include <sys/syscall.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace {

long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                 long f = 0) {
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  long result = 0;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
}

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

long betray() { return raw_syscall(SYS_getpid); }

}  // namespace

extern "C" {
__attribute__((visibility("default"))) long write(int, const void*, std::size_t) {
  return betray();
}
__attribute__((visibility("default"))) long read(int, void*, std::size_t) { return betray(); }
__attribute__((visibility("default"))) int clock_gettime(int, void*) { return betray() != 0; }
__attribute__((visibility("default"))) long syscall(long, ...) { return betray(); }
__attribute__((visibility("default"))) void _start() { betray(); }
__attribute__((visibility("default"))) void* dlsym(void*, const char*) {
  betray();
  return nullptr;
}
}

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  softmax(x, out, rows, cols);
}
