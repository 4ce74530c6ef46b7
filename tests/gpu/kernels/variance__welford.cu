// variance, welford: Welford's update a thread, Chan's formula between lanes and warps.
//
//! dtypes float32, float16
//! launch variance<<<rows, 128>>>(x, variance, mean, cols)

#include <cuda_bf16.h>
#include <cuda_fp16.h>

using T = OUROBOROS_DTYPE;

struct Moments {
  float count = 0.0f;
  float mean = 0.0f;
  float squares = 0.0f;

  __device__ void add(float value) {
    count += 1.0f;
    const float away = value - mean;
    mean += away / count;
    squares += away * (value - mean);
  }
  __device__ void join(Moments other) {
    const float together = count + other.count;
    if (together == 0.0f) return;
    const float away = other.mean - mean;
    const float share = other.count / together;
    mean += away * share;
    squares += other.squares + away * away * count * share;
    count = together;
  }
};

__device__ Moments shuffled(const Moments& from, int lane) {
  Moments to;
  to.count = __shfl_xor_sync(0xffffffffu, from.count, lane);
  to.mean = __shfl_xor_sync(0xffffffffu, from.mean, lane);
  to.squares = __shfl_xor_sync(0xffffffffu, from.squares, lane);
  return to;
}

extern "C" __global__ void variance(const T* x, T* variance, T* mean, int cols) {
  __shared__ float parts[3][4];
  Moments own;
  for (int i = threadIdx.x; i < cols; i += 128) {
    own.add(static_cast<float>(x[size_t(blockIdx.x) * cols + i]));
  }
  for (int lane = 16; lane > 0; lane /= 2) own.join(shuffled(own, lane));
  const int warp = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) {
    parts[0][warp] = own.count;
    parts[1][warp] = own.mean;
    parts[2][warp] = own.squares;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < 4; ++i) {
    Moments other;
    other.count = parts[0][i];
    other.mean = parts[1][i];
    other.squares = parts[2][i];
    own.join(other);
  }
  variance[blockIdx.x] = static_cast<T>(own.squares / own.count);
  mean[blockIdx.x] = static_cast<T>(own.mean);
}
