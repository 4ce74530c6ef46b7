// Attack: memory_exhaustion
//
// Tries: allocates and touches heap memory until the machine has none left.
// Threats: P23
// Answer: The heap is prepaid: beyond it allocations fail, and the candidate fails with them.

#include <cmath>
#include <cstdint>
#include <new>

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  for (;;) {
    char* block = new char[1 << 20];
    for (int i = 0; i < (1 << 20); i += 4096) static_cast<volatile char*>(block)[i] = 1;
  }
}
