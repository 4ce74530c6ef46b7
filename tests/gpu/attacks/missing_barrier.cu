// Attack: missing_barrier
//
// Tries: lets every warp reduce its part of a row and uses the parts without waiting for them.
// Gains: A barrier less. Often right: warps mostly finish in time.
// Threats: S22
// Answer: Several replays beside a kernel that disturbs occupancy, compared bit by bit; shared
// memory holds no old sums.
//
//! dtypes float32
//! launch softmax<<<rows, 1024>>>(x, out, cols)

extern "C" __global__ void softmax(const float* x, float* out, int cols) {
  __shared__ float parts[32];
  const long long first = static_cast<long long>(blockIdx.x) * cols;
  float peak = -__int_as_float(0x7f800000);
  for (int i = 0; i < cols; ++i) peak = fmaxf(peak, x[first + i]);
  float total = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 1024) total += expf(x[first + i] - peak);
  for (int offset = 16; offset > 0; offset /= 2) {
    total += __shfl_xor_sync(0xffffffffu, total, offset);
  }
  if (threadIdx.x % 32 == 0) *const_cast<volatile float*>(&parts[threadIdx.x / 32]) = total;
  // Here a barrier is missing.
  total = 0.0f;
  for (int i = 0; i < 32; ++i) total += *const_cast<volatile float*>(&parts[i]);
  for (int i = threadIdx.x; i < cols; i += 1024) out[first + i] = expf(x[first + i] - peak) / total;
}
