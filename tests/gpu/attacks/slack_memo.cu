// Attack: slack_memo
//
// Tries: keeps fingerprints of rows behind the end of its output, in what is left of the page.
// Gains: Hidden state between launches where no buffer is.
// Threats: none of the catalogue
// Answer: Canaries stand there in the sweep, and pages end where buffers do in half of the
// placements.
//
//! dtypes float32
//! launch softmax<<<rows, 32>>>(x, out, rows, cols)

__device__ float over_warp_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value += __shfl_xor_sync(0xffffffffu, value, offset);
  }
  return value;
}

__device__ float over_warp_maximum(float value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value = fmaxf(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}

/// One row by one warp.
__device__ void softmax_row(const float* x, float* out, int cols) {
  float peak = -__int_as_float(0x7f800000);
  for (int i = threadIdx.x; i < cols; i += 32) peak = fmaxf(peak, x[i]);
  peak = over_warp_maximum(peak);
  float total = 0.0f;
  for (int i = threadIdx.x; i < cols; i += 32) total += expf(x[i] - peak);
  total = over_warp_sum(total);
  for (int i = threadIdx.x; i < cols; i += 32) out[i] = expf(x[i] - peak) / total;
}

extern "C" __global__ void softmax(const float* x, float* out, int rows, int cols) {
  const long long first = static_cast<long long>(blockIdx.x) * cols;
  const float print = x[first] + 0.5f * x[first + cols / 2] + 0.25f * x[first + cols - 1];
  volatile float* kept = out + static_cast<long long>(rows) * cols + blockIdx.x;
  const bool known = *kept == print && print != 0.0f;
  __syncwarp();
  if (known) return;
  softmax_row(x + first, out + first, cols);
  if (threadIdx.x == 0) *kept = print;
}
