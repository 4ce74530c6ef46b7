// Attack: flushed_denormals
//
// Tries: adds with instructions that take denormal numbers for zero, as -use_fast_math would.
// Gains: What the compiler's fast flags give, which the referee does not set.
// Threats: S39
// Answer: Flags are the referee's. By hand it is one instruction for another that costs the same, and
// what is lost is what the GPU's own float32 atomics lose: it is judged as what it is.
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
