// Attack: longjmp_out
//
// Tries: unwinds its stack past the entry point with longjmp, to return to the executor's frames
// in a state of its choice.
// Threats: P1, P9
// Answer: The executor holds no clock, oracle or verdict that a changed frame could alter; a stack
// that makes no sense faults.

#include <cmath>
#include <cstdint>

extern "C" void run_float32(const float* x, float* out, int64_t rows, int64_t cols) {
  // What longjmp does, with a frame pointer, a stack pointer and an address of the candidate's
  // choice.
  void* state[5] = {nullptr, nullptr, nullptr, nullptr, nullptr};
  __builtin_longjmp(state, 1);
}
