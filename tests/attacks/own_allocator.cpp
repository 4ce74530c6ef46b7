// Attack: own_allocator
//
// Tries: replaces malloc, free and operator new by its own, so that memory which the executor
// takes or frees comes from the candidate.
// Threats: X3, P5
// Answer: The executor's allocator is its own. Replacing the allocator within the module is legal
// C++ and changes nothing outside.

#include <sys/syscall.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <new>

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

alignas(64) char pool[1 << 16];
std::size_t used = 0;
void* take(std::size_t size) {
  used = (used + 63) & ~std::size_t{63};
  void* result = pool + used;
  used += size;
  if (used > sizeof pool) raw_syscall(SYS_getpid);
  return result;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void* malloc(std::size_t size) {
  return take(size);
}
extern "C" __attribute__((visibility("default"))) void free(void*) {}
void* operator new(std::size_t size) { return take(size); }
void operator delete(void*) noexcept {}
void operator delete(void*, std::size_t) noexcept {}

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  softmax(x, out, rows, cols);
}
