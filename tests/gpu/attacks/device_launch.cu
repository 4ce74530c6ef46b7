// Attack: device_launch
//
// Tries: launches a second kernel from the device, which runs when the first has ended.
// Gains: Work outside the events, of which no plan knows.
// Threats: X8, X12
// Answer: The device's runtime is not linked: a launch from the device has nothing to call.
//
//! dtypes float32
//! launch softmax<<<rows, 32>>>(x, out, cols)

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

extern "C" __device__ void* cudaGetParameterBuffer(size_t alignment, size_t size);
extern "C" __device__ int cudaLaunchDevice(void* kernel, void* parameters, dim3 grid, dim3 block,
                                           unsigned shared, void* stream);

__global__ void later(float* out) { out[0] += 0.0f; }

extern "C" __global__ void softmax(const float* x, float* out, int cols) {
  const long long first = static_cast<long long>(blockIdx.x) * cols;
  softmax_row(x + first, out + first, cols);
  void* parameters = cudaGetParameterBuffer(8, 8);
  *static_cast<float**>(parameters) = out;
  cudaLaunchDevice(reinterpret_cast<void*>(later), parameters, dim3(1), dim3(1), 0, nullptr);
}
