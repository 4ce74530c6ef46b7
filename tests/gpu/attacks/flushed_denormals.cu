// Attack: flushed_denormals
//
// Tries: adds with instructions that take denormal numbers for zero, as -use_fast_math would.
// Gains: What the compiler's fast flags give, which the referee does not set.
// Threats: S39
// Answer: Flags are the referee's; who writes the instruction by hand meets the family of denormal
// values.
//
//! dtypes float32
//! launch cumsum<<<cdiv(rows, 32), 32>>>(x, out, rows, cols)

extern "C" __global__ void cumsum(const float* x, float* out, int rows, int cols) {
  const long long row = blockIdx.x * 32 + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int i = 0; i < cols; ++i) {
    asm("add.ftz.f32 %0, %0, %1;" : "+f"(sum) : "f"(x[row * cols + i]));
    out[row * cols + i] = sum;
  }
}
