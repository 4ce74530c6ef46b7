// Attack: store_in_flight
//
// Tries: starts a bulk store from shared memory and ends before it has read it.
// Gains: The store happens after the end of the kernel, outside the events.
// Threats: X8
// Answer: A kernel ends with its stores. Where the block's shared memory is given away before, the
// output is not what was computed.
//
//! dtypes float32
//! launch softmax<<<rows, 32, shared = 4 * (cols + 4)>>>(x, out, cols)

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

extern "C" __global__ void softmax(const float* x, float* out, int cols) {
  extern __shared__ __align__(16) float row[];
  const long long first = static_cast<long long>(blockIdx.x) * cols;
  if (cols % 4 != 0) {
    softmax_row(x + first, out + first, cols);
    return;
  }
  softmax_row(x + first, row, cols);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncwarp();
  const auto from = static_cast<unsigned>(__cvta_generic_to_shared(row));
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out + first),
                 "r"(from), "r"(4 * cols)
                 : "memory");
  }
}
