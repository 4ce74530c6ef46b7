"""CUDA C++ that PyTorch compiles by NVRTC."""

import torch
import torch.utils.cpp_extension

if torch.utils.cpp_extension.CUDA_HOME is None:
    torch.utils.cpp_extension.CUDA_HOME = "/usr/local/cuda"

SOURCE = r"""
extern "C" __global__ void softmax(const float* x, float* out, int cols) {
  __shared__ float parts[8];
  const float* row = x + (size_t)blockIdx.x * cols;
  float top = -3.4e38f, sum = 0;
  for (int i = threadIdx.x; i < cols; i += 256) top = fmaxf(top, row[i]);
  for (int o = 16; o > 0; o /= 2) top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, o));
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = top;
  __syncthreads();
  for (int i = 0; i < 8; ++i) top = fmaxf(top, parts[i]);
  __syncthreads();
  for (int i = threadIdx.x; i < cols; i += 256) sum += expf(row[i] - top);
  for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, o);
  if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int i = 0; i < 8; ++i) sum += parts[i];
  for (int i = threadIdx.x; i < cols; i += 256)
    out[(size_t)blockIdx.x * cols + i] = expf(row[i] - top) / sum;
}
"""
kernel = torch.cuda._compile_kernel(SOURCE, "softmax")


def run(x):
    assert x.dtype == torch.float32
    out = torch.empty_like(x)
    if x.shape[0]:
        kernel(grid=(x.shape[0], 1, 1), block=(256, 1, 1), args=[x, out, x.shape[1]])
    return out
